# Iterations that a condition on indices skips count for no rate: 10 of 16 products of a lower triangle.
--- tril.tc
def tril(float(N,N) A, float(N,N) B) -> (C) { C(i,j) +=! k <= i ? A(i,k) * B(k,j) : 0.0 }
$ loopwright show tril.tc --size N=4 --stage report --threads 1 | grep -c "80 operations"
1
