# Turns of a loop that add nothing are skipped, but none in which an index is looked at first.
--- g.tc
def g(float(N) A, float(K) B) -> (S) {
    I(k) = int(k / 8) where k in 0:K
    S(i) +=! A(I(k)) >= 0.0 && k <= i ? B(k) : 0.0 where i in 0:30, k in 0:K
}
def h(float(N) A, float(K) B) -> (S) {
    I(k) = int(k / 8) where k in 0:K
    S(i) +=! k <= i && A(I(k)) >= -inf ? 1.0 : 0.0 where i in 0:30, k in 0:K
}
$ loopwright run g.tc --def g --size N=10,K=400 --threads 1
--- stderr
g.tc:3:5: error: statement 'S': subscript 1 of 'A' is I[k] = 10 at i = 0, k = 80, outside [0, 10)
      S(i) +=! A(I(k)) >= 0.0 && k <= i ? B(k) : 0.0 where i in 0:30, k in 0:K
      ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
note: I[80] is 10
--- exit 1
$ loopwright run g.tc --def h --size N=10,K=400 --threads 1 | tail -1
           [1, 2, 3, 4, 5, 6, ...]
