# A file is benched as it runs: with the schedule that the tuning database has for it, which is said.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mine.lws
C: m/3 n k m
$ loopwright db put mm.tc --size M=6,N=5,K=4 --threads 1 --schedule mine.lws --pin --db %/t.db > out
$ loopwright bench mm.tc --size M=6,N=5,K=4 --quick --peers none --history none --db %/t.db | grep loops
  loops, from the tuning database: C: m/3 n k m
$ loopwright bench mm.tc --size M=6,N=5,K=4 --quick --peers none --history none --db none --schedule mine.lws | grep loops
  loops: C: m/3 n k m
$ loopwright bench gemm --db none
--- stderr
loopwright bench: --db is for a program of your own: name its file
usage: loopwright bench [SUITE...|FILE] [options]; --help explains them
--- exit 2
