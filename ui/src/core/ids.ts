const SHORT = 13;

/** An id where there is little room: its beginning, as the command line writes it and takes it, and as the search finds it. */
export const shortId = (id: string): string => id.slice(0, SHORT);
