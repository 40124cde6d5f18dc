"""Environments for agents that learn to arrange loops, as in LoopTune.

    env = LoopEnv(text, sizes=dict(M=128, K=128, N=128))
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)

The API is Gymnasium's; the class derives from `gymnasium.Env` if that package is installed, and needs only NumPy otherwise. `VectorEnv` steps several
environments at once. `random_search` and `Agent` are a baseline and a small learning agent in NumPy.
"""

from __future__ import annotations

import operator
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._define import define
from ._loop_tree import LoopTree
from ._roofline import machine
from ._types import Error

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete

    _Env: Any = gymnasium.Env
    _Vector: Any = gymnasium.vector.VectorEnv
except ImportError:
    _Env = _Vector = object

    class Box:  # type: ignore[no-redef]
        """The part of Gymnasium's Box that `LoopEnv` uses."""

        def __init__(self, low: float, high: float, shape: Tuple[int, ...], dtype: Any) -> None:
            self.low, self.high, self.shape, self.dtype = low, high, shape, np.dtype(dtype)

        def contains(self, x: Any) -> bool:
            return isinstance(x, np.ndarray) and x.shape == self.shape and x.dtype == self.dtype and bool(((x >= self.low) & (x <= self.high)).all())

    class Discrete:  # type: ignore[no-redef]
        """The part of Gymnasium's Discrete that `LoopEnv` uses."""

        def __init__(self, n: int) -> None:
            self.n, self.shape, self.dtype = n, (), np.dtype(np.int64)
            self._random = np.random.default_rng()

        def seed(self, seed: Optional[int] = None) -> None:
            self._random = np.random.default_rng(seed)

        def sample(self, mask: Optional[npt.NDArray[np.int8]] = None) -> int:
            return int(self._random.choice(self.n if mask is None else np.flatnonzero(mask)))

        def contains(self, x: Any) -> bool:
            return isinstance(x, (int, np.integer)) and 0 <= int(x) < self.n


ROWS, COLUMNS = 10, 20
Sizes = Mapping[str, int]
Observation = npt.NDArray[np.float32]
KEPT_STATES = 50000


def _peak() -> float:
    """The highest measured GFLOP/s of all cores."""
    return float(max(rate for kinds in machine()["gflops"].values() for rates in kinds.values() for rate in rates))


class State:
    """One arrangement of the loops with a cursor, and the facts that the environment has computed about it."""

    __slots__ = ("tree", "observation", "mask", "scripts", "schedule", "next")

    def __init__(self, tree: _native.LoopTree, splits: Sequence[int]) -> None:
        self.tree = tree
        features, kind, extent, loops = tree.features(ROWS)
        self.observation: Observation = np.frombuffer(features, np.float32).reshape(ROWS, COLUMNS)
        self.scripts = ["back", "next", "swap"] + ["split %d" % k for k in splits] + ["merge"]
        self.scripts += ["annotate " + ("serial" if kind == wanted else wanted) for wanted in ("unroll", "vector", "parallel")]
        self.mask = np.frombuffer(tree.accepts(self.scripts), np.bool_).copy()
        self.mask[3:3 + len(splits)] &= np.array([loops < ROWS and k < extent for k in splits])
        self.schedule = tree.schedule
        self.next: Dict[int, State] = {}


class LoopEnv(_Env):  # type: ignore[misc]
    """The loops of a function as an environment.

    `text` is a program of one function in the comprehension language, `sizes` its sizes, or a list of such from which `reset` draws. An episode starts from
    `schedule` (the loops as written) and ends after `steps` steps.

    Actions (`env.actions` has their names): the cursor goes `up` or `down` the list of loops; the loop under it is exchanged with the one inside (`swap`), split
    (`split_8`: 8 iterations inside), merged (`merge`) with the next one over the same iterator further out, or marked `unroll`, `vectorize` or `parallel` (the same action again
    removes the mark). `info["action_mask"]` tells which actions apply; the others change nothing and have reward 0.

    An observation has a row of 20 numbers from 0 to 1 for each of the first 10 loops: whether the cursor is there, log2 of the extent and of the tail (over
    32), whether the loop belongs to an initialisation or a post-operation, and a histogram of the strides of the accesses inside: 0, 1, 2 to 3, 4 to 7, ... elements.
    `env.graph()` is the same as a graph.

    The reward is the change of GFLOP/s over the measured peak of this machine. GFLOP/s are measured or, with `measure=False`, computed from
    the lower bound of the time (docs/spaces.md), which is deterministic.

    >>> env = LoopEnv("def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }", sizes=dict(M=64, K=64), measure=False)
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, [name for name, ok in zip(env.actions, info["action_mask"]) if ok][:3]
    ((10, 20), ['down', 'swap', 'split_2'])
    >>> observation, reward, terminated, truncated, info = env.step(env.actions.index("swap"))
    >>> print(env.tree)
    for i in 64
      C[i] = 0.0
    for k in 64
      for i in 64
        C[i] += A[i, k]*x[k]
    """

    metadata: Dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, text: str, *, sizes: Union[Sizes, Sequence[Sizes]], measure: bool = True, steps: int = 32, schedule: Optional[str] = "",
                 splits: Sequence[int] = (2, 4, 8, 16, 32, 64), seconds: float = 0.0002, render_mode: Optional[str] = None) -> None:
        functions = list(define(text))
        if len(functions) != 1:
            raise Error("an environment needs a program with one function; this one has %d" % len(functions))
        self._sizes = [dict(s) for s in ([sizes] if isinstance(sizes, Mapping) else sizes)]
        if not self._sizes:
            raise Error("sizes is empty")
        self.actions: Tuple[str, ...] = ("up", "down", "swap") + tuple("split_%d" % k for k in splits) + ("merge", "unroll", "vectorize", "parallel")
        self.action_space = Discrete(len(self.actions))
        self.observation_space = Box(0.0, 1.0, (ROWS, COLUMNS), np.float32)
        self.render_mode = render_mode
        self.measure, self.steps, self.peak = measure, steps, _peak()
        self._splits, self._seconds = tuple(splits), seconds
        self._function = functions[0].schedule(schedule)
        self._random = np.random.default_rng()
        self._states: Dict[Tuple[int, str, int], State] = {}
        self._rates: Dict[Tuple[int, str], float] = {}
        self._starts: Dict[int, Tuple[State, float]] = {}
        self._reset_to(0)

    # --- States -------------------------------------------------------------------------------

    def _state(self, tree: _native.LoopTree) -> State:
        key = (self._which, tree.schedule, tree.cursor)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= KEPT_STATES:
                self.close()
            state = self._states[key] = State(tree, self._splits)
        return state

    def _reset_to(self, which: int) -> None:
        if not 0 <= which < len(self._sizes):
            raise Error("sizes %d; there are %d" % (which, len(self._sizes)))
        self._which = which
        if which not in self._starts:
            start = self._function.loop_tree(**self._sizes[which])._native
            self._starts[which] = self._state(start), sum(n[16] for n in start.nodes if n[2] < 0)
        self.state, self.flops = self._starts[which]
        self.elapsed = 0

    def _rate(self, state: State) -> float:
        key = (self._which, state.schedule)  # independent of the cursor
        rate = self._rates.get(key)
        if rate is None:
            seconds = state.tree.measure(self._seconds)[0] if self.measure else state.tree.bound()
            rate = self._rates[key] = self.flops / max(seconds, 1e-9) * 1e-9
        return rate

    @property
    def tree(self) -> LoopTree:
        """The present loops."""
        return LoopTree(self.state.tree)

    @property
    def best(self) -> Tuple[str, float]:
        """The fastest schedule so far for the present sizes, and its GFLOP/s."""
        return max(((schedule, rate) for (which, schedule), rate in self._rates.items() if which == self._which), key=lambda pair: pair[1])

    @property
    def gflops(self) -> float:
        """The rate of the present loops: measured, or from the bound."""
        return self._rate(self.state)

    # --- Gymnasium's methods ------------------------------------------------------------------

    def _info(self) -> Dict[str, Any]:
        return {"action_mask": self.state.mask.copy(), "gflops": self.gflops, "schedule": self.state.schedule}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The action mask, under the name that agents of sb3-contrib expect."""
        return self.state.mask.copy()

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Observation, Dict[str, Any]]:
        """Starts an episode. `options["sizes"]` is the number of the sizes to use."""
        if _Env is not object:
            super().reset(seed=seed)
        if seed is not None:
            self._random = np.random.default_rng(seed)
        which = (options or {}).get("sizes", int(self._random.integers(len(self._sizes))))
        self._reset_to(which)
        return self.state.observation.copy(), self._info()

    def step(self, action: Any) -> Tuple[Observation, float, bool, bool, Dict[str, Any]]:
        """Acts. `terminated` is always False, `truncated` True after the last step of an episode."""
        action = operator.index(action)
        if not 0 <= action < len(self.actions):
            raise Error("action %d; there are %d" % (action, len(self.actions)))
        self.elapsed += 1
        reward = 0.0
        if self.state.mask[action]:
            before = self.gflops
            following = self.state.next.get(action)
            if following is None:
                following = self.state.next[action] = self._state(self.state.tree.edit(self.state.scripts[action]))
            self.state = following
            reward = (self.gflops - before) / self.peak
        return self.state.observation.copy(), reward, False, self.elapsed >= self.steps, self._info()

    def render(self) -> Optional[str]:
        """The loops, with a mark at the cursor, as text."""
        tree = self.tree
        cursor = tree.cursor
        lines = str(tree).splitlines()
        text = "\n".join(("> " if cursor and cursor.line == i else "  ") + line for i, line in enumerate(lines, 1))
        return "%s\n%.2f GFLOP/s" % (text, self.gflops)

    def close(self) -> None:
        """Forgets all states."""
        self._states.clear()
        self._rates.clear()
        self._starts.clear()

    # --- The graph ----------------------------------------------------------------------------

    def graph(self) -> "Graph":
        """The loops, statements and tensors as a graph."""
        return graph(self.tree)


class Graph(NamedTuple):
    """A loop tree as a graph. Control edges lead from a loop to the nodes inside, data edges between statements and tensors; those between a loop and a tensor are weighted by the
    stride of an access along the loop."""

    nodes: List[Tuple[str, str]]  #: kind ("loop", "statement", "data") and name
    features: npt.NDArray[np.float32]  #: per node: is loop, is statement, is data, cursor, log2 of extent and tail over 32
    edges: npt.NDArray[np.int64]  #: (2, number): from, to
    kinds: List[str]  #: per edge: "control", "read", "write" or "stride"
    weights: npt.NDArray[np.float32]  #: per edge: log2(1 + stride)/32; 1 for the others


def graph(tree: LoopTree) -> Graph:
    """A loop tree as a graph; see `Graph`."""
    nodes: List[Tuple[str, str]] = []
    features: List[Tuple[float, ...]] = []
    edges: List[Tuple[int, int, str, float]] = []
    number: Dict[int, int] = {}
    tensors: Dict[str, int] = {}
    cursor = tree.cursor
    for n in tree.nodes:
        above = n.parent
        while above >= 0 and above not in number:
            above = tree.nodes[above].parent
        if n.type == "guard":
            continue
        number[n.number] = len(nodes)
        loop = n.type == "loop"
        nodes.append(("loop" if loop else "statement", str(n.loop or n.name if loop else n.text)))
        features.append((float(loop), float(not loop), 0.0, float(n == cursor), np.log2(1 + n.extent) / 32, np.log2(1 + n.tail) / 32))
        if above >= 0:
            edges.append((number[above], number[n.number], "control", 1.0))
    for leaf, name, write, strides in tree._native.accesses:
        if name not in tensors:
            tensors[name] = len(nodes)
            nodes.append(("data", name))
            features.append((0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
        pair = (number[leaf], tensors[name])
        edges.append((pair if write else pair[::-1]) + ("write" if write else "read", 1.0))
        edges.extend((number[loop], tensors[name], "stride", float(np.log2(1 + abs(stride)) / 32)) for loop, stride in strides)
    ends = np.array([e[:2] for e in edges], np.int64).reshape(-1, 2).T
    return Graph(nodes, np.array(features, np.float32), ends, [e[2] for e in edges], np.array([e[3] for e in edges], np.float32))


# --- Several at once ----------------------------------------------------------------------------

class VectorEnv(_Vector):  # type: ignore[misc]
    """Several environments that step together; an episode that ends starts again in the same step. `envs` may have different programs, but the same actions.

    The class derives from `gymnasium.vector.VectorEnv` if Gymnasium is installed. Then `gymnasium.make_vec("loopwright/LoopEnv-v0", num_envs=8, text=..., sizes=...)`
    makes Gymnasium's own vectors of one program, too.
    """

    def __init__(self, envs: Sequence[LoopEnv]) -> None:
        if not envs or len({e.actions for e in envs}) != 1:
            raise Error("environments of a vector need the same actions")
        if len(set(map(id, envs))) != len(envs):
            raise Error("an environment is twice in a vector")
        self.envs, self.num_envs = list(envs), len(envs)
        self.single_action_space, self.single_observation_space = envs[0].action_space, envs[0].observation_space
        if _Vector is not object:
            self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
            self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
            self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Observation, Dict[str, Any]]:
        """Starts all episodes; environment i gets `seed + i`."""
        both = [e.reset(seed=None if seed is None else seed + i, options=options) for i, e in enumerate(self.envs)]
        return np.stack([b[0] for b in both]), _stack([b[1] for b in both])

    def step(self, actions: Sequence[int]) -> Tuple[Observation, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Dict[str, Any]]:
        """Acts in all of them. If an episode has ended, observation and info are the first ones of the next episode; `info["final_obs"]` and `info["final_info"]` have the
        last ones of the ended episode."""
        if len(actions) != self.num_envs:
            raise Error("%d actions for %d environments" % (len(actions), self.num_envs))
        observations, rewards, ended, infos, before = [], [], [], [], []
        last = np.full(self.num_envs, None, object)
        for i, (env, action) in enumerate(zip(self.envs, actions)):
            observation, reward, _, truncated, info = env.step(action)
            before.append(info)
            if truncated:
                last[i] = observation
                observation, info = env.reset()
            observations.append(observation)
            rewards.append(reward)
            ended.append(truncated)
            infos.append(info)
        both = _stack(infos)
        if any(ended):
            both["final_obs"], both["_final_obs"] = last, np.array(ended)
            both["final_info"], both["_final_info"] = _stack(before), np.array(ended)
        return np.stack(observations), np.array(rewards), np.zeros(self.num_envs, bool), np.array(ended), both

    def close(self, **_: Any) -> None:
        """Forgets all states."""
        for env in self.envs:
            env.close()


def _stack(infos: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    return {"action_mask": np.stack([i["action_mask"] for i in infos]), "gflops": np.array([i["gflops"] for i in infos]),
            "schedule": [i["schedule"] for i in infos]}


if _Env is not object:
    gymnasium.register(id="loopwright/LoopEnv-v0", entry_point="loopwright.rl:LoopEnv")


# --- Agents -------------------------------------------------------------------------------------

def random_search(env: LoopEnv, trials: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """The best GFLOP/s after each of `trials` steps with random actions that apply."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    best, curve = info["gflops"], []
    for _ in range(trials):
        _, _, _, truncated, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        best = max(best, info["gflops"])
        curve.append(best)
        if truncated:
            _, info = env.reset()
    return np.array(curve)


class Agent:
    """A policy that learns by REINFORCE: a linear softmax over features of the observation, in NumPy alone. The return of a step is the best rate that the episode reaches
    from there on, minus the average of earlier episodes."""

    def __init__(self, env: LoopEnv, rate: float = 1.0, seed: int = 0) -> None:
        self.env, self.rate, self._rng = env, rate, np.random.default_rng(seed)
        self.weights = np.zeros((self._features(np.zeros((ROWS, COLUMNS), np.float32)).size, len(env.actions)))

    @staticmethod
    def _features(observation: Observation) -> npt.NDArray[np.float64]:
        at = int(observation[:, 0].argmax())
        here = observation[at]
        inside = observation[at + 1] if at + 1 < ROWS else np.zeros(COLUMNS)
        loops = (observation[:, 1] > 0).sum()
        where = np.zeros(ROWS)
        where[at] = 1
        count = np.zeros(ROWS + 1)
        count[loops] = 1
        return np.concatenate([[1.0], here[1:], inside[1:], where, count])

    def policy(self, observation: Observation, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """The probability of each action."""
        scores = np.where(mask, self._features(observation) @ self.weights, -np.inf)
        p = np.exp(scores - scores.max())
        return np.asarray(p / p.sum())

    def learn(self, trials: int, seed: int = 0) -> npt.NDArray[np.float64]:
        """Learns for a number of steps, and returns the best GFLOP/s after each."""
        observation, info = self.env.reset(seed=seed)
        best, curve, average = info["gflops"], [], 0.0
        episode: List[Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int, float]] = []
        for _ in range(trials):
            p = self.policy(observation, info["action_mask"])
            action = int(self._rng.choice(p.size, p=p))
            x = self._features(observation)
            observation, _, _, truncated, info = self.env.step(action)
            episode.append((x, p, action, info["gflops"] / self.env.peak))
            best = max(best, info["gflops"])
            curve.append(best)
            if truncated:
                average = self._improve(episode, average)
                episode = []
                observation, info = self.env.reset()
        return np.array(curve)

    def _improve(self, episode: List[Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int, float]], average: float) -> float:
        top = max(e[3] for e in episode)
        reached = -np.inf
        for x, p, action, rate in reversed(episode):
            reached = max(reached, rate)
            gradient = -p
            gradient[action] += 1
            self.weights += self.rate * (reached - average) * np.outer(x, gradient)
        return 0.8 * average + 0.2 * top
