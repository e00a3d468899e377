from order import deal

FOLDERS = ["browser", *["core"] * 5, "stories", "stories", *["db"] * 4]


def test_every_worker_begins_with_what_takes_long() -> None:
    order = deal(FOLDERS, 2)
    assert [FOLDERS[at] for at in order] == [
        "stories", "stories", *["core"] * 4, "browser", "core", *["db"] * 4,
    ]  # fmt: skip


def test_every_test_runs_once_however_many_workers_there_are() -> None:
    for workers in (1, 2, 5, 40):
        assert sorted(deal(FOLDERS, workers)) == [*range(len(FOLDERS))]
    assert sorted(deal(["stories"] * 9 + ["core"], 3)) == [*range(10)]


def test_tests_of_one_folder_stay_in_their_order() -> None:
    order = deal(FOLDERS, 3)
    for folder in {*FOLDERS}:
        places = [at for at in order if FOLDERS[at] == folder]
        assert places == sorted(places)
