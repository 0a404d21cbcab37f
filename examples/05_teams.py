"""Who plays with whom in this lobby? Equal teams, friends together, from nothing but skills."""

import evenmatch

PLAYERS = {"ada": 2100, "bob": 1800, "cyd": 1650, "dan": 1500, "eve": 1400, "fay": 950}
names, skills = list(PLAYERS), list(PLAYERS.values())


def show(title, teams):
    print(title)
    for team in teams:
        print(f"  {sum(skills[i] for i in team):5}  {' '.join(names[i] for i in team)}")


show("three against three", evenmatch.split_teams(skills))
show("ada and bob came together", evenmatch.split_teams(skills, parties=[[0, 1]]))
show("three teams of two", evenmatch.split_teams(skills, team_count=3))

try:
    evenmatch.split_teams(skills, parties=[[0, 1], [2, 3], [4, 5]])
except evenmatch.MatchmakingError as error:
    print(f"\n{type(error).__name__}: {error}")
