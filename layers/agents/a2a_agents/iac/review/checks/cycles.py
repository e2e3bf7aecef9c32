"""Circles in who needs whom."""

from collections.abc import Iterable, Iterator, Mapping


def circles(needs: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """The groups of names that need each other, in the order of `needs` (Tarjan's, without recursion)."""
    order = {name: number for number, name in enumerate(needs)}
    edges = {name: sorted({each for each in wanted if each in order}) for name, wanted in needs.items()}
    found: dict[str, int] = {}
    low: dict[str, int] = {}
    held: list[str] = []
    on_hold: set[str] = set()
    for root in needs:
        if root in found:
            continue
        path = [(root, iter(edges[root]))]
        found[root] = low[root] = len(found)
        held.append(root)
        on_hold.add(root)
        while path:
            name, rest = path[-1]
            following = next((each for each in rest if each not in found or each in on_hold), None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == found[name]:
                    group = _taken(held, on_hold, name)
                    if len(group) > 1 or name in edges[name]:
                        yield sorted(group, key=order.__getitem__)
            elif following in found:
                low[name] = min(low[name], found[following])
            else:
                found[following] = low[following] = len(found)
                held.append(following)
                on_hold.add(following)
                path.append((following, iter(edges[following])))


def _taken(held: list[str], on_hold: set[str], name: str) -> list[str]:
    group = []
    while True:
        taken = held.pop()
        on_hold.discard(taken)
        group.append(taken)
        if taken == name:
            return group
