"""set: computes variables."""

from __future__ import annotations

from tenuto.definition.expressions import check_template
from tenuto.definition.fields import UNUSABLE, Field, Fields, is_object
from tenuto.definition.language_kinds import Template, Variable, check_variable
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.report import Place
from tenuto.model.graph import DEFAULT, SetValues
from tenuto.model.json import JSON, Object


class Values(Template):
    """Names of variables, each with a template."""

    def read(self, value: JSON, place: Place) -> object:
        if not is_object(value, place):
            return UNUSABLE
        if not value:
            place.wrong("TEN-1017", "there is no value", 'Add one, as in `{"total": "{{…}}"}`.')
            return UNUSABLE
        for name, template in value.items():
            check_variable(name, place.at(name))
            check_template(template, place.at(name))
        return value

    def schema(self) -> Object:
        return {"type": "object", "propertyNames": Variable().schema(), "minProperties": 1}


SET = NodeType(
    tag="set",
    step="SET",
    make=SetValues,
    fields=Fields(Field("values", "values", Values(), required=True)),
    handles=lambda _: (DEFAULT,),
)
