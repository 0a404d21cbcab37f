"""What a server's settings leave without effect, or make impossible, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenmatch.cli.queue_description import RATED, brought_to
from evenmatch.cli.rating_warnings import systems_of
from evenmatch.config.server import ServerSettings
from evenmatch.explain.phrases import list_in_words
from evenmatch.model.queue import Queue


def setting_warnings(settings: ServerSettings, queues: Sequence[Queue]) -> Iterator[str]:
    """Yield sentences about settings of the server that do nothing as they stand, or keep all out.

    Args:
        settings: Valid.
        queues: All queues, as configured.
    """
    if settings.log_secret_file is not None and not settings.log_tickets:
        yield (
            "server: log_secret_file does nothing while the log has no lines about tickets; write "
            "log_tickets = true too"
        )
    used = {queue.allocation for queue in queues}
    for name in settings.allocation:
        if name not in used:
            yield (
                f'server: no queue uses [server.allocation.{name}]; write allocation = "{name}" '
                "below the [[queue]] whose matches it finds servers for, or leave it out"
            )
    if settings.guests and settings.tokens is None:
        yield from _of_guests(settings, queues)


def _of_guests(settings: ServerSettings, queues: Sequence[Queue]) -> Iterator[str]:
    """Yield what a queue needs of its players that guests may not say of themselves, or are not."""
    systems = systems_of(queues)
    for queue in queues:
        if not queue.format.admits(1):
            yield (
                f"queue {queue.name}: guests cannot queue, because they come alone; allow parties "
                "of 1, or let your backend create their tickets"
            )
            continue
        brought = brought_to(queue, systems.get(queue.rated_in))
        lacking = [each for each in brought if each not in settings.player_attributes]
        named = [each for each in lacking if each not in RATED]
        advice = [f"name {list_in_words(named)} in player_attributes"] if named else []
        if len(named) < len(lacking):
            advice.append('let the server keep ratings (rating = "glicko2" below [[queue]])')
        if lacking:
            words = list_in_words([*dict.fromkeys(brought[each] for each in lacking)])
            yield (
                f"queue {queue.name}: guests cannot queue, because their clients may not send "
                f"{words}; {', and '.join(advice)}, or let your backend create their tickets"
            )
