"""Every invariant by its number, in the three ways that they are judged."""

from __future__ import annotations

from tests.kit.checker.invariants import (
    acceptance,
    clock,
    effects,
    family,
    flow,
    loops,
    rerun,
    steps,
    structure,
    undoing,
    waiting,
    worth,
)
from tests.kit.checker.invariants.judgement import AtRest, EachRow, OverRun

ALWAYS: tuple[tuple[str, EachRow], ...] = (
    ("I1", structure.numbered_without_holes),
    ("I4", structure.only_legal_transitions),
    ("I4", structure.final_status_has_a_cause),
    ("I13", steps.nothing_starts_after_the_end),
)
"""Judged for every row, those after the end included."""

UNDOING: tuple[tuple[str, EachRow], ...] = (("I1", structure.numbered_without_holes),)
"""Judged for every row about what is undone; the rest of it is judged when all is told."""

EACH_ROW: tuple[tuple[str, EachRow], ...] = (
    ("I5", structure.causes_are_known),
    ("I6", structure.begins_with_its_input),
    ("STATUS", structure.waiting_means_only_waits),
    ("I10", steps.one_order_one_outcome),
    ("I11", steps.attempts_follow_each_other),
    ("I11", steps.attempts_never_restart),
    ("I11", steps.budget_is_kept),
    ("I11", steps.retries_wait_as_told),
    ("I12", steps.outcome_is_of_the_current_attempt),
    ("POISON", steps.poison_after_five_losses),
    ("I14", flow.no_step_before_its_dependencies),
    ("I15", flow.joins_fire_once),
    ("ROUTE", flow.routes_are_its_own),
    ("ROUTE", flow.failures_are_decided_rightly),
    ("ROUTE", flow.conditions_hold),
    ("I16", loops.iterations_follow_each_other),
    ("I16", loops.iterations_end_once),
    ("I16", loops.nothing_begins_in_what_is_over),
    ("LOOP", loops.sources_are_read_once),
    ("LOOP", loops.conditions_let_it_go_on),
    ("LOOP", loops.iterations_give_what_they_promise),
    ("LOOP", loops.loops_end_when_all_have_or_enough),
    ("SCOPE", loops.inputs_are_of_their_iteration),
    ("CANCEL", flow.only_the_region_is_called_off),
    ("CANCEL", flow.what_is_called_off_stays_so),
    ("GRACE", flow.grace_is_kept),
    ("I19", clock.no_timer_fires_early),
    ("I19", clock.timers_are_set_as_told),
    ("I20", clock.timers_end_once),
    ("I26", waiting.one_wins),
    ("I27", waiting.delivered_only_where_it_fits),
    ("I27", waiting.taken_once),
    ("FAMILY", family.children_follow_their_orders),
    ("FAMILY", family.outcomes_follow_from_children),
)

AT_REST: tuple[tuple[str, AtRest], ...] = (
    ("I3", structure.fold_equals_stored),
    ("I6", structure.definition_stays),
    ("STATUS", structure.status_fits_at_rest),
    ("I8", waiting.accepted_events_arrive),
    ("POISON", steps.poison_is_told),
    ("DEAD-LETTER", steps.unhandled_failures_are_kept),
    ("I14", flow.nothing_enabled_is_left),
    ("I14", flow.copies_had_their_dependencies),
    ("I15", flow.tokens_are_conserved),
    ("ROUTE", flow.routed_failures_arrive),
    ("ROUTE", flow.failed_items_fail_their_loop),
    ("I16", loops.every_iteration_has_ended),
    ("CANCEL", flow.called_off_bodies_had_a_reason),
    ("CANCEL", flow.the_region_is_called_off),
    ("GRACE", flow.grace_is_waited_for),
    ("OUTPUT", flow.output_is_as_promised),
    ("I17", effects.effects_have_their_key),
    ("I17", effects.effects_were_ordered),
    ("I17", effects.completed_steps_ran),
    ("I18", effects.recorded_results_are_real),
    ("I20", clock.no_timer_is_overdue),
    ("I20", clock.no_stored_timer_is_overdue),
    ("I23", structure.deadlines_stay),
    ("I24", waiting.every_waiting_instance_can_wake),
    ("I25", waiting.nothing_outlives_an_end),
    ("I25", waiting.nothing_is_open_at_the_end),
    ("I28", acceptance.cancelled_instances_end),
    ("I29", undoing.what_completed_is_undone),
    ("I29", undoing.each_is_undone_once_in_its_turn),
    ("I29", undoing.nothing_is_done_while_it_is_undone),
    ("I29", undoing.what_is_undone_was_called),
    ("I30", undoing.what_undoes_saw_what_was_done),
    ("I45", worth.every_instance_ends_or_rightly_waits),
)

OVER_RUN: tuple[OverRun, ...] = (
    structure.commits_rise,
    structure.ids_are_unique,
    acceptance.acknowledged_starts_exist,
    acceptance.one_instance_per_key,
    acceptance.unknown_requests_had_one_effect,
    acceptance.accepted_requests_are_kept,
    rerun.reruns_take_over_what_was,
    family.every_child_has_its_parent,
    family.every_birth_has_its_child,
    family.ends_are_told,
    worth.not_vacuous,
)
