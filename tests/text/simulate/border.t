# A convolution with a border: schedule tiles it with its conditions, and fills what lies outside of the image.
--- conv.tc
def conv(float(H,W,C) I, float(3,3,C,K) F) -> (O) {
    O(h,w,k) +=! pad(I(h + r - 1, w + s - 1, c)) * F(r,s,c,k) where h in 0:H, w in 0:W
}
$ loopwright simulate conv.tc --size H=14,W=14,C=64,K=64 --machine accelerator --check | grep 'cycles\|moved\|check'
  cycles   17721; at least 15488, bound by transfers: 87.4 % of what the machine allows
  moved    247808 bytes; at least 247808
  check    executed: the same tasks, the right results
