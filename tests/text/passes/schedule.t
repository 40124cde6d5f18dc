# The loops of a description read back as a Schedule, which makes the same loops again.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ loopwright passes mm.tc --size M=100,N=90,K=70 --machine avx512 --stage schedule
C: m/8:p n/48 k m n:v
$ loopwright show mm.tc --size M=100,N=90,K=70 --machine avx512 --stage schedule > mm.lws
$ loopwright show mm.tc --size M=100,N=90,K=70 --schedule mm.lws --stage asm | grep -v '^#' > one.s
$ loopwright show mm.tc --size M=100,N=90,K=70 --machine avx512 --stage asm | grep -v '^#' > two.s
$ cmp one.s two.s && echo the same code
the same code
$ loopwright show mm.tc --size M=64,N=64,K=64 --machine accelerator --stage schedule
--- stderr
error: no schedule makes the loops of 'mm': 'A.copy' lies in a unit of the machine; show --stage tree or stripe
--- exit 1
$ loopwright passes mm.tc --size M=64,N=64,K=64 --machine nvidia-sm90 --stage schedule
--- stderr
error: no schedule makes the loops of 'mm': the results of statement 'C' start in loops of their own; show --stage tree or stripe
--- exit 1
$ loopwright passes mm.tc --size M=64,N=64,K=64 --machine avx2 --stage schedule --explain
--- stderr
loopwright passes: --stage schedule prints the Schedule of the last loops only
usage: loopwright passes FILE [options]; --help explains them
--- exit 2
