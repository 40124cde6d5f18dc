"""LoopEnv: Gymnasium's contract, masks, rewards, observations, speed, agents."""

import time

import loopwright as lw
import numpy as np
import pytest
from conftest import SCALE
from loopwright import rl

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
SOFT = "def soft(float(N,D) I) -> (O) { top(n) max=! I(n,d)  O(n,d) = exp(I(n,d) - top(n)) }"


def env(text=MM, sizes=None, **keywords):
    return rl.LoopEnv(text, sizes=sizes or dict(M=24, K=16, N=32), **dict(dict(measure=False), **keywords))


def walk(e, steps, seed=0):
    rng = np.random.default_rng(seed)
    observation, info = e.reset(seed=seed)
    seen = []
    for _ in range(steps):
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, terminated, truncated, info = e.step(action)
        assert e.observation_space.contains(observation) and not terminated
        seen.append((action, reward, info["schedule"]))
        if truncated:
            observation, info = e.reset()
    return seen


def test_the_checker_of_gymnasium_accepts_it():
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from gymnasium.utils.env_checker import check_env

    check_env(env(), skip_render_check=True)
    check_env(env(render_mode="ansi"))


def test_observations():
    e = env()
    observation, info = e.reset(seed=1)
    assert observation.shape == (10, 20) and observation.dtype == np.float32
    assert observation[:, 0].tolist() == [1] + [0] * 9 and (observation[3:] == 0).all()
    assert np.allclose(observation[:3, 4:].sum(1), 1)  # histograms
    k = observation[2, 4:]  # along k: C stays (read and written once), A moves by 1, B by 32
    assert k[1] > 0 and k[6] > 0 and k[0] > 0
    observation = e.step(e.actions.index("down"))[0]
    assert observation[:, 0].tolist() == [0, 1] + [0] * 8
    graph = e.graph()
    assert {n[0] for n in graph.nodes} == {"loop", "statement", "data"} and graph.features.shape == (len(graph.nodes), 6)
    assert graph.edges.shape == (2, len(graph.kinds)) and set(graph.kinds) == {"control", "read", "write", "stride"}
    assert graph.edges.max() < len(graph.nodes) and (graph.weights >= 0).all()


@pytest.mark.parametrize("text, sizes", [(MM, None), (SOFT, dict(N=12, D=24))], ids=["mm", "soft"])
def test_masks_are_exact(text, sizes):
    e = env(text, sizes)
    rng = np.random.default_rng(3)
    _, info = e.reset(seed=0)
    for _ in range(40 // SCALE + 1):
        mask = info["action_mask"]
        assert mask.dtype == bool and mask.shape == (e.action_space.n,)
        for action in np.flatnonzero(~mask):
            before = e.state
            if e.actions[action].startswith("split"):
                continue  # also masked where it would leave a loop of one iteration
            with pytest.raises(lw.Error):
                e.tree.edit(before.scripts[action])
        off = np.flatnonzero(~mask)
        if off.size:
            before, elapsed = e.state, e.elapsed
            _, reward, _, _, _ = e.step(off[0])
            assert reward == 0 and e.state is before and e.elapsed == elapsed + 1
        _, _, _, truncated, info = e.step(rng.choice(np.flatnonzero(mask)))
        if truncated:
            _, info = e.reset()


def test_without_measuring_it_is_deterministic():
    assert walk(env(), 100, 5) == walk(env(), 100, 5)
    e = env()
    rewards = [reward for _, reward, _ in walk(e, e.steps - 1, 2)]
    assert np.isclose(sum(rewards), (e.gflops - env().gflops) / e.peak)


def test_results_stay_right():
    e = env(measure=True)
    A, B = np.arange(24 * 16, dtype="f4").reshape(24, 16) % 5, np.arange(16 * 32, dtype="f4").reshape(16, 32) % 3
    for _, _, schedule in walk(e, 60 // SCALE + 1, 4):
        assert np.array_equal(e._function.schedule(schedule)(A, B), A @ B)
    assert e.gflops > 0 and e.best[1] >= e.gflops
    assert "GFLOP/s" in e.render() and "> " in e.render()


def test_arguments():
    with pytest.raises(lw.Error, match="one function"):
        env(MM + SOFT)
    with pytest.raises(lw.Error, match="needs a value"):
        env(sizes=dict(M=3))
    with pytest.raises(lw.Error, match="there are"):
        env().step(99)
    e = env(sizes=[dict(M=8, K=8, N=8), dict(M=16, K=8, N=8)])
    sizes = {str(e.reset()[1] and e.tree.sizes) for _ in range(20)}
    assert len(sizes) == 2 and e.reset(options={"sizes": 1}) and e.tree.sizes["M"] == 16
    with pytest.raises(lw.Error, match="there are 2"):
        e.reset(options={"sizes": 2})
    with pytest.raises(TypeError):
        e.step(1.5)


def test_rates_are_of_the_sizes_in_use():
    small, large = dict(M=8, K=8, N=8), dict(M=64, K=64, N=64)
    e, alone = env(sizes=[small, large]), env(sizes=small)
    for which in (0, 1, 0):
        e.reset(options={"sizes": which})
    alone.reset()
    swap = e.actions.index("swap")
    assert e.step(swap)[4]["gflops"] == alone.step(swap)[4]["gflops"]


def test_vectors():
    both = rl.VectorEnv([env(steps=3), env(SOFT, dict(N=12, D=24), steps=4)])
    observations, info = both.reset(seed=0)
    assert observations.shape == (2, 10, 20) and info["action_mask"].shape == (2, both.single_action_space.n)
    ended = [both.step([int(np.flatnonzero(m)[0]) for m in info["action_mask"]])[3].tolist() for _ in range(4)]
    assert ended == [[False, False], [False, False], [True, False], [False, True]]
    with pytest.raises(lw.Error):
        rl.VectorEnv([])
    with pytest.raises(lw.Error, match="1 actions for 2 environments"):
        both.step([1])
    with pytest.raises(lw.Error, match="twice"):
        rl.VectorEnv([both.envs[0]] * 2)
    both.reset()
    for _ in range(3):
        _, _, _, ended, info = both.step([1, 1])
    assert info["_final_info"].tolist() == ended.tolist() == [True, False]
    assert info["final_info"]["action_mask"].shape == info["action_mask"].shape
    swapped = rl.VectorEnv([env(steps=1)])
    info = swapped.step([swapped.envs[0].actions.index("swap")])[4]
    assert info["final_info"]["schedule"] != info["schedule"]


def test_vectors_of_gymnasium():
    gymnasium = pytest.importorskip("gymnasium")
    ours = rl.VectorEnv([env(steps=3), env(steps=3)])
    assert isinstance(ours, gymnasium.vector.VectorEnv) and ours.action_space.contains(ours.action_space.sample())
    observations, info = ours.reset(seed=0)
    assert ours.observation_space.contains(observations)
    for _ in range(3):
        observations, rewards, terminated, truncated, info = ours.step([1, 1])
    assert truncated.all() and info["_final_obs"].all() and info["final_obs"][0].shape == (10, 20)
    ours.close()
    theirs = gymnasium.make_vec("loopwright/LoopEnv-v0", num_envs=2, vectorization_mode="sync", text=MM, sizes=dict(M=16, K=16, N=16), measure=False)
    observations, info = theirs.reset(seed=1)
    assert observations.shape == (2, 10, 20) and info["action_mask"].shape == (2, 13)
    assert theirs.step(np.array([1, 1]))[1].shape == (2,)
    theirs.close()


def test_a_parallel_reduction_has_no_reward():
    e = env("def s(float(N) x) -> (y) { y +=! x(i) }", dict(N=1 << 16))
    e.reset(seed=0)
    _, reward, _, _, info = e.step(e.actions.index("parallel"))
    assert reward == 0.0, info


def test_an_agent_learns():
    e = env(sizes=dict(M=64, K=64, N=64), steps=12)
    agent = rl.Agent(e, seed=1)
    curve = agent.learn(600 // SCALE + 24)
    assert (np.diff(curve) >= 0).all() and abs(agent.weights).sum() > 0
    p = agent.policy(*[e.reset(seed=0)[0], e.state.mask])
    assert np.isclose(p.sum(), 1) and (p[~e.state.mask] == 0).all()
    assert rl.random_search(e, 50).shape == (50,)


def test_speed():
    """Steps per second of processor time; docs/python.md has those of an idle machine."""
    e = env(sizes=dict(M=64, K=64, N=64))
    start = time.process_time()
    walk(e, 500)
    assert 500 / (time.process_time() - start) > 300
