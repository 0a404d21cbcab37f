"""Followers: in which order they are told."""

from evenmatch.server.views.followers import Followers


def test_followers_are_cut_in_the_order_in_which_they_came() -> None:
    followers, told = Followers(200), list[int]()
    inboxes = [followers.admit() for _ in range(100)]
    for number, inbox in enumerate(inboxes):
        inbox.wake = lambda number=number: told.append(number)
    for number in range(0, 100, 3):
        followers.dismiss(inboxes[number])
    followers.cut_all()
    assert told == [number for number in range(100) if number % 3]
    assert len(followers) == len(told)
