# Divisions take longer the wider their vectors are: what all lanes share is divided in one lane, and
# a tail of 7 lanes in 8.
--- norm.tc
def norm(float(M,N) A, float(M) d) -> (S) { S(m,n) = A(m,n) / sqrt(d(m)) }
--- rows.lws
S: m n:v
$ loopwright show norm.tc --size M=900,N=23 --schedule rows.lws --isa avx512 --stage asm | grep -o 'vsqrt.. [xyz]\|vdiv.. [xyz]'
vsqrtss x
vdivps z
vdivps y
$ loopwright show norm.tc --size M=900,N=10 --schedule rows.lws --isa avx2 --stage asm | grep -o 'vsqrt.. [xyz]\|vdiv.. [xyz]'
vsqrtss x
vdivps y
vdivps x
