package asm_test

import (
	"fmt"
	"os"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// A loop that adds a constant of the pool to 16 numbers at a time.
func ExampleList() {
	z0, z1 := asm.Phys(asm.Vec, 0), asm.Phys(asm.Vec, 1)
	inst := func(op asm.Op, width uint16, args ...asm.Arg) (in asm.Inst) {
		in.Op, in.Width = op, width
		copy(in.Args[:], args)
		return in
	}
	one := inst(asm.VADDPS, 512, asm.R(z1), asm.R(z0), asm.Pool(0))
	one.Bcast, one.Pos = true, 1
	again := inst(asm.JCC, 0, asm.L(0))
	again.Cond = asm.CondNE
	blocks := [][]asm.Inst{
		{
			inst(asm.VMOVUPS, 512, asm.R(z0), asm.M(asm.RSI, 0)),
			one,
			inst(asm.VMOVUPS, 512, asm.MX(asm.RSI, asm.RDI, 1, 64), asm.R(z1)),
			inst(asm.ADD, 64, asm.R(asm.RSI), asm.I(64)),
			inst(asm.SUB, 32, asm.R(asm.RCX), asm.I(1)),
			again,
		},
		{inst(asm.RET, 0)},
	}
	err := asm.List(os.Stdout, blocks, []byte{0, 0, 128, 63}, func(pos int32) string {
		return []string{"", "add.go:9"}[pos]
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// .0:
	//      0  62 f1 7c 48 10 06             vmovups zmm0, zmmword ptr [rsi]
	//                                       # add.go:9
	//      6  62 f1 7c 58 58 0d 30 00 00 00 vaddps zmm1, zmm0, dword ptr [rip + pool+0]{1to16}
	//     10  62 f1 7c 48 11 4c 3e 01       vmovups zmmword ptr [rsi + rdi + 64], zmm1
	//     18  48 83 c6 40                   add rsi, 64
	//     1c  83 e9 01                      sub ecx, 1
	//     1f  75 df                         jne .0
	// .1:
	//     21  c3                            ret
}
