# What cannot be written is said before the work is done, not behind it; other last words.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
$ loopwright tune mv.tc --size M=4,K=4 --seconds 100 --db none -o nowhere/w.lws
--- stderr
error: cannot write 'nowhere/w.lws': No such file or directory
--- exit 1
$ loopwright tune mv.tc --size M=4,K=4 --seconds 100 --db none --plot nowhere/w.svg
--- stderr
error: cannot write 'nowhere/w.svg': No such file or directory
--- exit 1
$ loopwright run mv.tc --size M=4,K=4 --out C=c.npy --out C=c.npy
--- stderr
loopwright run: --out writes 'c.npy' twice
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ CC=false loopwright run mv.tc --size M=4,K=4 --backend c
--- stderr
error: the C compiler rejects the generated code: 'false' ends with status 1
--- exit 1
$ loopwright bench --only nothing gemm
--- stderr
loopwright bench: nothing is called 'nothing'
usage: loopwright bench [SUITE...|FILE] [options]; --help explains them
--- exit 2
