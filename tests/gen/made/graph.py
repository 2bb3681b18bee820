"""Times of a run: nodes, each as late as the latest of its causes and a delay after it.

A time is (node, ns after it), so a stretch of host work needs no node of its own. Programs do not
look at times, so a run is built first, all ranks, and its times are computed afterwards."""


class Graph:
    def __init__(self):
        self.into = []

    def node(self, *causes):
        """A node after all of these times (node, delay)."""
        self.into.append(list(causes))
        return len(self.into) - 1

    def solve(self):
        """Time of each node in ns; a node without causes is at 0."""
        into, time = self.into, [None] * len(self.into)
        for first in range(len(into)):
            todo = [first] if time[first] is None else []
            while todo:
                node, latest, open_ = todo[-1], 0, len(todo)
                for source, delay in into[node]:
                    if time[source] is None:
                        todo.append(source)
                    elif time[source] + delay > latest:
                        latest = time[source] + delay
                if len(todo) == open_:
                    time[node] = latest
                    todo.pop()
                elif len(todo) > 4 * len(into):
                    raise ValueError("the program waits for itself")
        return time
