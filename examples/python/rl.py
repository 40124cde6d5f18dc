"""A learning agent against random search: both arrange the loops of a matrix product, with the same number of measured steps.

Prints the best GFLOP/s over the trials, averaged over the seeds, and draws them into rl.png if matplotlib is installed.
"""

import argparse

import numpy as np
from loopwright import rl

MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


def curves(trials, seeds):
    env = rl.LoopEnv(MATMUL, sizes=dict(M=64, K=64, N=64), steps=24)
    agents = [rl.Agent(env, seed=seed) for seed in range(seeds)]
    learned = np.mean([agent.learn(trials, seed=seed) for seed, agent in enumerate(agents)], 0)
    random = np.mean([rl.random_search(env, trials, seed) for seed in range(seeds)], 0)
    return {"agent": learned, "random search": random}, env.best


def show(lines, width=60):
    most = max(line.max() for line in lines.values())
    trials = len(next(iter(lines.values())))
    for at in np.linspace(trials / 10, trials, 10).astype(int):
        for name, line in lines.items():
            print("%6d trials  %-13s %6.1f GFLOP/s  %s" % (at, name, line[at - 1], "#" * int(width * line[at - 1] / most)))


def draw(lines, path):
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for name, line in lines.items():
        plt.plot(np.arange(1, len(line) + 1), line, label=name)
    plt.xlabel("trials")
    plt.ylabel("best GFLOP/s")
    plt.legend()
    plt.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", type=int, nargs="?", default=2000, help="measured steps (2000)")
    parser.add_argument("seeds", type=int, nargs="?", default=3, help="runs to average (3)")
    given = parser.parse_args()
    lines, (schedule, rate) = curves(given.trials, given.seeds)
    show(lines)
    print("best, %.1f GFLOP/s: %s" % (rate, schedule.strip()))
    draw(lines, "rl.png")


if __name__ == "__main__":
    main()
