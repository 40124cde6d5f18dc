# The schedules of docs/schedules.md give the results of the reference interpreter.
$ loopwright run @/examples/schedules/conv.lwp --size N=1,K=20,C=1,H=5,W=7 | grep checksum
  out      f32(1, 20, 5, 7) O: checksum 4ab16f7bd8bce924
$ loopwright run @/examples/schedules/conv.lwp --size N=1,K=20,C=1,H=5,W=7 --backend tree --schedule @/examples/schedules/conv.lws | grep checksum
  out      f32(1, 20, 5, 7) O: checksum 4ab16f7bd8bce924
$ loopwright run @/examples/schedules/blur.lwp --size H=13,W=9 | grep checksum
  out      f32(13, 9) O: checksum abcb0aa67d9cfe1c
$ loopwright run @/examples/schedules/blur.lwp --size H=13,W=9 --backend tree --schedule @/examples/schedules/blur.lws | grep checksum
  out      f32(13, 9) O: checksum abcb0aa67d9cfe1c
$ loopwright run @/examples/schedules/matmul.tc --size M=13,N=19,K=30 | grep checksum
  out      f32(13, 19) C: checksum f965878693f694ee
$ loopwright run @/examples/schedules/matmul.tc --size M=13,N=19,K=30 --backend tree --schedule @/examples/schedules/matmul.lws | grep checksum
  out      f32(13, 19) C: checksum f965878693f694ee
