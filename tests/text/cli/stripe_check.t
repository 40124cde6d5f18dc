# run --check of Stripe loops as written: a result may collect the rounding errors of all its terms, here those of
# sums over 70 exponentials.
--- softmax.tc
def softmax(float(N,D) I) -> (O) {
    M(n) max=! I(n,d)
    E(n,d) = exp(I(n,d) - M(n))
    S(n) +=! E(n,d)
    O(n,d) = E(n,d) / S(n)
}
$ loopwright show softmax.tc --size N=40,D=70 --schedule naive --stage stripe > softmax.stripe; loopwright run softmax.stripe --as-written --check
softmax(f32(40, 70) I) -> (f32(40, 70) O)
  sizes    no sizes
  check    right: up to rounding, against the interpreter
