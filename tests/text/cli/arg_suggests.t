# --arg and --in suggest names that they can give, --out those of results.
--- scale.tc
def scale(float alpha, float(N) X) -> (alphas) { alphas(i) = alpha * X(i) }
$ loopwright run scale.tc --size N=3 --arg alpah=2
--- stderr
error: --arg alpah: 'scale' has no scalar argument of that name; did you mean 'alpha'?
--- exit 1
$ loopwright run scale.tc --size N=3 --arg alphass=2
--- stderr
error: --arg alphass: 'scale' has no scalar argument of that name; did you mean 'alpha'?
--- exit 1
$ loopwright run scale.tc --size N=3 --arg alpha=2 --out alpha1=x.npy
--- stderr
error: --out alpha1: 'scale' has no result of that name; did you mean 'alphas'?
--- exit 1
