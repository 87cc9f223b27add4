import numpy as np

from airfeel.streams import Streams


def test_rows_belong_to_their_device():
    streams = Streams(1)
    whole = streams.uniform("batch", 2, np.arange(9), 5)
    some = np.array([0, 2, 3, 4, 8])
    np.testing.assert_array_equal(streams.uniform("batch", 2, some, 5), whole[some])
    assert streams.uniform("batch", 2, np.zeros(0, dtype=np.int64), 5).shape == (0, 5)


def test_every_name_counts():
    ids = np.arange(3)
    draws = [
        Streams(1).uniform("batch", 2, ids, 4),
        Streams(2).uniform("batch", 2, ids, 4),
        Streams(1).uniform("quantize", 2, ids, 4),
        Streams(1).uniform("batch", 3, ids, 4),
        Streams(1).rng("batch", 2).random((3, 4)),
    ]
    flat = np.concatenate([d.ravel() for d in draws])
    assert len(np.unique(flat)) == len(flat)


def test_rows_look_uniform_and_unrelated():
    u = Streams(5).uniform("batch", 1, np.arange(400), 103)
    assert abs(u.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(u[:-1].ravel(), u[1:].ravel())[0, 1]) < 0.02
    assert 0.0 <= u.min() < u.max() < 1.0


def test_seed_may_be_large():
    assert Streams(2**80).rng("a").random() != Streams(2**80 + 1).rng("a").random()
