package asm

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var (
	x0, x1, x2, x9, x17, x31 = Phys(Vec, 0), Phys(Vec, 1), Phys(Vec, 2), Phys(Vec, 9), Phys(Vec, 17), Phys(Vec, 31)
	k1, k2, k7               = Phys(Mask, 1), Phys(Mask, 2), Phys(Mask, 7)
)

func mk(op Op, width uint16, args ...Arg) Inst {
	in := Inst{Op: op, Width: width}
	copy(in.Args[:], args)
	return in
}

func (in Inst) with(m Reg, zero, bcast bool) Inst {
	in.Mask, in.Zero, in.Bcast = m, zero, bcast
	return in
}

func (in Inst) cond(c Cond) Inst {
	in.Cond = c
	return in
}

// TestGolden has code by the manual, for machines without LLVM.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		in         Inst
		code, text string
	}{
		{mk(ADD, 64, R(RAX), R(RBX)), "4803c3", "add rax, rbx"},
		{mk(ADD, 32, R(RAX), I(1000)), "05e8030000", "add eax, 1000"},
		{mk(ADD, 32, R(R8), I(-1)), "4183c0ff", "add r8d, -1"},
		{mk(ADD, 32, R(R8), I(0xffffffff)), "4183c0ff", "add r8d, -1"},
		{mk(CMP, 8, R(RSI), I(5)), "4080fe05", "cmp sil, 5"},
		{mk(MOV, 64, R(RCX), I(7)), "b907000000", "mov ecx, 7"},
		{mk(MOV, 64, R(RCX), I(-7)), "48c7c1f9ffffff", "mov rcx, -7"},
		{mk(MOV, 64, R(R9), I(1<<40)), "49b90000000000010000", "mov r9, 1099511627776"},
		{mk(MOV, 64, M(R13, 0), R(R12)), "4d896500", "mov qword ptr [r13], r12"},
		{mk(LEA, 64, R(RDI), MX(RSP, RBP, 8, 256)), "488dbcec00010000", "lea rdi, [rsp + 8*rbp + 256]"},
		{mk(SHL, 32, R(RDX), R(RCX)), "d3e2", "shl edx, cl"},
		{mk(SETCC, 8, R(RDI)).cond(CondNE), "400f95c7", "setne dil"},
		{mk(CMOVCC, 64, R(RAX), R(R10)).cond(CondL), "490f4cc2", "cmovl rax, r10"},
		{mk(VADDPS, 128, R(x0), R(x1), R(x2)), "c5f058c2", "vaddps xmm0, xmm1, xmm2"},
		{mk(VADDPS, 256, R(x0), R(x1), R(x9)), "c4c17458c1", "vaddps ymm0, ymm1, ymm9"},
		{mk(VPXOR, 256, R(x0), R(x1), R(x9)), "c5b5efc1", "vpxor ymm0, ymm1, ymm9"},
		{mk(VMOVUPS, 256, R(x0), R(x9)), "c57c11c8", "vmovups ymm0, ymm9"},
		{mk(VADDPS, 512, R(x0), R(x1), R(x31)), "6291744858c7", "vaddps zmm0, zmm1, zmm31"},
		{mk(VADDPS, 512, R(x0), R(x1), M(RAX, 64)), "62f17448584001", "vaddps zmm0, zmm1, zmmword ptr [rax + 64]"},
		{mk(VADDPS, 512, R(x0), R(x1), M(RAX, 4)).with(0, false, true), "62f17458584001", "vaddps zmm0, zmm1, dword ptr [rax + 4]{1to16}"},
		{mk(VADDPS, 256, R(x17), R(x1), R(x2)).with(k1, true, false), "62e174a958ca", "vaddps ymm17 {k1} {z}, ymm1, ymm2"},
		{mk(VFMADD231PD, 512, R(x0), R(x1), R(x2)).with(k7, false, false), "62f2f54fb8c2", "vfmadd231pd zmm0 {k7}, zmm1, zmm2"},
		{mk(VPMOVZXBD, 512, R(x0), M(RBX, 16)), "62f27d48314301", "vpmovzxbd zmm0, xmmword ptr [rbx + 16]"},
		{mk(VCVTPS2PD, 512, R(x0), R(x1)), "62f17c485ac1", "vcvtps2pd zmm0, ymm1"},
		{mk(VPMOVDW, 512, M(RBX, 32), R(x1)), "62f27e48334b01", "vpmovdw ymmword ptr [rbx + 32], zmm1"},
		{mk(VPGATHERDDK, 512, R(x0), MX(RSI, x1, 4, 0)).with(k2, false, false), "62f27d4a90048e", "vpgatherdd zmm0 {k2}, zmmword ptr [rsi + 4*zmm1]"},
		{mk(VPGATHERDD, 256, R(x0), MX(RSI, x1, 4, 0), R(x2)), "c4e26d90048e", "vpgatherdd ymm0, ymmword ptr [rsi + 4*ymm1], ymm2"},
		{mk(VCMPPSK, 512, R(k1), R(x1), R(x2), I(1)), "62f17448c2ca01", "vcmpltps k1, zmm1, zmm2"},
		{mk(VPCMPD, 512, R(k1), R(x1), R(x2), I(0)), "62f1754876ca", "vpcmpeqd k1, zmm1, zmm2"},
		{mk(VPTERNLOGD, 512, R(x0), R(x1), R(x2), I(0xf8)), "62f3754825c2f8", "vpternlogd zmm0, zmm1, zmm2, 248"},
		{mk(VPSLLD, 256, R(x0), R(x1), I(3)), "c5fd72f103", "vpslld ymm0, ymm1, 3"},
		{mk(KMOVW, 16, R(k1), R(RAX)), "c5f892c8", "kmovw k1, eax"},
		{mk(KORTESTW, 16, R(k1), R(k2)), "c5f898ca", "kortestw k1, k2"},
		{mk(VBLENDVPS, 256, R(x0), R(x1), R(x2), R(x9)), "c4e3754ac290", "vblendvps ymm0, ymm1, ymm2, ymm9"},
		{mk(LOCK_CMPXCHG, 32, M(RDI, 0), R(RDX)), "f00fb117", "lock cmpxchg dword ptr [rdi], edx"},
		{mk(VZEROUPPER, 0), "c5f877", "vzeroupper"},
		{mk(VDPBF16PS, 512, R(x1), R(x2), M(RAX, 0)).with(0, false, true), "62f26e585208", "vdpbf16ps zmm1, zmm2, dword ptr [rax]{1to16}"},
		{mk(LDTILECFG, 64, M(RAX, 0)), "c4e2784900", "ldtilecfg [rax]"},
		{mk(TILERELEASE, 64), "c4e27849c0", "tilerelease"},
		{mk(TILEZERO, 64, I(2)), "c4e27b49d0", "tilezero tmm2"},
		{mk(TILELOADD, 64, I(5), MX(R8, RCX, 1, 64)), "c4c27b4b6c0840", "tileloadd tmm5, [r8 + rcx + 64]"},
		{mk(TILESTORED, 64, MX(R14, RDX, 1, 4096), I(3)), "c4c27a4b9c1600100000", "tilestored [r14 + rdx + 4096], tmm3"},
		{mk(TDPBF16PS, 64, I(0), I(4), I(6)), "c4e24a5cc4", "tdpbf16ps tmm0, tmm4, tmm6"},
		{mk(TDPBSSD, 64, I(1), I(5), I(7)), "c4e2435ecd", "tdpbssd tmm1, tmm5, tmm7"},
		{mk(TDPBUUD, 64, I(3), I(5), I(7)), "c4e2405edd", "tdpbuud tmm3, tmm5, tmm7"},
		{mk(MFENCE, 0), "0faef0", "mfence"},
	} {
		var a Assembler
		if err := a.Inst(&c.in); err != nil {
			t.Error(err)
			continue
		}
		if got := hex.EncodeToString(a.buf); got != c.code {
			t.Errorf("%s is %s, want %s", c.text, got, c.code)
		}
		if got := c.in.String(); got != c.text {
			t.Errorf("text is %q, want %q", got, c.text)
		}
	}
}

// TestErrors are instructions that cannot be: an error names each.
func TestErrors(t *testing.T) {
	locked := mk(ADD, 64, R(RAX), R(RBX))
	locked.Lock = true
	for _, c := range []struct {
		in   Inst
		want string
	}{
		{Inst{}, `"noop" cannot be encoded: it is no machine operation`},
		{Inst{Op: numOps + 3}, "it is no machine operation"},
		{mk(COPY, 64, R(RAX), R(RBX)), "it is no machine operation"},
		{mk(ADD, 64, R(Virtual(GPR, 3)), R(RAX)), `"add %g3, rax" cannot be encoded: %g3 is not a machine register`},
		{mk(ADD, 64, R(RAX), M(Virtual(GPR, 3), 0)), "%g3 cannot be the base of an address"},
		{mk(ADD, 64, R(RAX), MX(RAX, RSP, 2, 0)), "rsp cannot be the index of an address"},
		{mk(ADD, 64, R(RAX), MX(RAX, RBX, 3, 0)), "an index cannot be scaled by 3"},
		{mk(ADD, 64, M(RAX, 0), M(RBX, 0)), "there is no form with such operands"},
		{mk(ADD, 64, R(RAX), I(1<<40)), "there is no form with such operands"},
		{mk(ADD, 64, R(RAX), R(x1)), "there is no form with such operands"},
		{mk(ADD, 64, R(RAX)), "there is no form with such operands"},
		{mk(ADD, 128, R(RAX), R(RBX)), "there is no form of that width"},
		{mk(VADDPS, 64, R(x0), R(x1), R(x2)), "there is no form of that width"},
		{mk(VPERMD, 128, R(x0), R(x1), R(x2)), "there is no form of that width"},
		{mk(VPAND, 512, R(x0), R(x1), R(x2)), "it has no form with a mask, a broadcast, 512 bits or these registers"},
		{mk(VPAND, 256, R(x0), R(x1), R(x17)), "it has no form with a mask, a broadcast, 512 bits or these registers"},
		{mk(VROUNDPS, 256, R(x0), R(x1), I(8)).with(k1, false, false), "it has no form with a mask"},
		{mk(VADDPS, 256, R(x0), R(x1), R(x2)).with(0, true, false), "only with a mask can lanes become zero"},
		{mk(VMOVUPS, 256, M(RAX, 0), R(x2)).with(k1, true, false), "only lanes of a vector register can become zero"},
		{mk(VADDPS, 256, R(x0), R(x1), R(x2)).with(0, false, true), "there is no memory operand to broadcast"},
		{mk(VPSHUFB, 512, R(x0), R(x1), M(RAX, 0)).with(0, false, true), "it has no form with a broadcast"},
		{mk(VMOVD, 128, R(x0), R(RAX)).with(k1, false, false), "it takes no mask"},
		{mk(VADDPS, 256, R(x0), R(x1), R(x2)).with(RAX, false, false), "rax is no mask register"},
		{mk(VPGATHERDDK, 512, R(x0), MX(RSI, x1, 4, 0)), "it needs a mask that is not k0"},
		{mk(VPGATHERDD, 256, R(x0), MX(RSI, x1, 4, 0), R(x1)), "must be different registers"},
		{mk(VPGATHERDDK, 256, R(x0), MX(RSI, x0, 4, 0)).with(k1, false, false), "must be different registers"},
		{locked, "only operations that change memory can be locked"},
		{mk(LEA, 64, R(RAX), R(RBX)), "there is no form with such operands"},
		{mk(JMP, 64, I(3)), "there is no form with such operands"},
		{Inst{Op: MOV, Width: 64, Args: [4]Arg{{Kind: 99}}}, "operand 1 has the unknown kind 99"},
	} {
		var a Assembler
		err := a.Inst(&c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.in.String(), err, c.want)
		}
	}
}

// TestJumps checks that jumps are short where their block is near, and that all of
// them arrive.
func TestJumps(t *testing.T) {
	var a Assembler
	nop := mk(NOP, 0)
	add := func(in Inst) { require.NoError(t, a.Inst(&in)) }
	a.Block(0)
	add(mk(JCC, 0, L(2)).cond(CondB)) // 127 bytes forward: short
	add(mk(JMP, 0, L(3)))             // long
	a.Block(1)
	for range 127 - 5 {
		add(nop)
	}
	a.Block(2)
	add(mk(JCC, 0, L(0)).cond(CondE)) // long
	add(mk(JMP, 0, L(1)))             // 122+6+2 bytes back: long
	add(mk(LEA, 64, R(RAX), L(3)))
	add(mk(CALL, 0, L(0)))
	a.Block(3)
	add(mk(VADDPS, 256, R(x0), R(x1), Pool(32)))
	add(mk(VPERMQ, 256, R(x0), Pool(0), I(1)))
	code, _, err := a.Finish(make([]byte, 64))
	require.NoError(t, err)

	require.Equal(t, "727f"+"e991000000", hex.EncodeToString(code[:7]))
	require.Equal(t, 2+5+122, a.Offset(2))
	require.Equal(t, "0f8479ffffff"+"e97bffffff"+"488d0505000000"+"e868ffffff"+"c5f4580540000000"+"c4e3fd000516000000"+"01",
		hex.EncodeToString(code[129:129+41]))
	require.Equal(t, 152, a.Offset(3))
	require.Equal(t, 256, len(code))
	for _, n := range []int{-1, 4, 99} {
		require.Equal(t, -1, a.Offset(n))
	}
}

func TestJumpNowhere(t *testing.T) {
	for _, in := range []Inst{mk(JMP, 0, L(1)), mk(JMP, 0, L(-1)), mk(LEA, 64, R(RAX), L(7)), mk(CALL, 0, L(-2)), mk(VADDPS, 256, R(x0), R(x1), Pool(64))} {
		var a Assembler
		a.Block(0)
		require.NoError(t, a.Inst(&in))
		_, _, err := a.Finish(make([]byte, 32))
		require.Error(t, err, in.String())
	}
}

// TestRandomJumps checks the jumps of random code by following them.
func TestRandomJumps(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var a Assembler
		n := 2 + r.IntN(40)
		for range 1 + r.IntN(3) {
			require.NoError(t, a.Func(n, func(i int) (list []Inst) {
				if r.IntN(4) == 0 {
					a.Align(1 << r.IntN(7))
				}
				for range r.IntN(12) {
					list = append(list, mk(MOV, 64, R(R9), I(1<<40)))
				}
				return append(list, mk([]Op{JMP, JCC}[r.IntN(2)], 0, L(r.IntN(n))).cond(Cond(r.IntN(16))), mk(NOP, 0))
			}), seed)
		}
		code, _, err := a.Finish(nil)
		require.NoError(t, err)
		followJumps(t, &a, code)
	}
}

// followJumps checks that every jump of code leads to the beginning of a block, and
// that none is longer than it must be.
func followJumps(t *testing.T, a *Assembler, code []byte) {
	t.Helper()
	starts := map[int]bool{}
	for i := range a.blocks {
		starts[a.blocks[i]] = true
	}
	for at := 0; at < a.blocks[len(a.blocks)-1]; {
		size, d := 0, 0
		switch c := code[at]; {
		case c == 0xeb || c&0xf0 == 0x70:
			size, d = 2, int(int8(code[at+1]))
		case c == 0xe9:
			size, d = 5, int(int32(uint32(code[at+1])|uint32(code[at+2])<<8|uint32(code[at+3])<<16|uint32(code[at+4])<<24))
		case c == 0x0f && code[at+1]&0xf0 == 0x80:
			size, d = 6, int(int32(uint32(code[at+2])|uint32(code[at+3])<<8|uint32(code[at+4])<<16|uint32(code[at+5])<<24))
		case c == 0x49:
			at += 10
			continue
		case c == 0x0f && code[at+1] == 0x0b:
			at += 2
			continue
		default:
			at += nopLen(t, code[at:])
			continue
		}
		if !starts[at+size+d] {
			t.Fatalf("jump at %d leads to %d, where no block begins", at, at+size+d)
		}
		if size > 2 && d >= -100 && d <= 100 {
			t.Fatalf("jump at %d over %d bytes is long", at, d)
		}
		at += size
	}
}

func nopLen(t *testing.T, b []byte) int {
	t.Helper()
	for n := 9; n > 0; n-- {
		if s := nops[n*(n-1)/2:][:n]; strings.HasPrefix(string(b[:min(n, len(b))]), s) {
			return n
		}
	}
	t.Fatalf("no instruction: % x", b[:4])
	return 0
}

// TestAlign checks that blocks begin where they should, in later functions too.
func TestAlign(t *testing.T) {
	var a Assembler
	nop := mk(NOP, 0)
	for range 2 {
		require.NoError(t, a.Func(3, func(i int) []Inst {
			a.Align(16 << i)
			return []Inst{nop, mk(JMP, 0, L(0)), nop}
		}))
	}
	for i := range 6 {
		require.Zero(t, a.Offset(i)%(16<<(i%3)), "block %d is at %d", i, a.Offset(i))
	}
	code, _, err := a.Finish(nil)
	require.NoError(t, err)
	require.Equal(t, PoolAlign, 64)
	require.Zero(t, len(code)%PoolAlign)
}

func TestMarksAndList(t *testing.T) {
	a := Assembler{Keep: true}
	at := func(pos int32, in Inst) Inst {
		in.Pos = pos
		return in
	}
	blocks := [][]Inst{
		{at(1, mk(VPXOR, 256, R(x0), R(x0), R(x0))), at(1, mk(MOV, 64, R(R9), I(1<<40))), at(2, mk(BARRIER, 0))},
		{at(2, mk(VADDPS, 512, R(x0), R(x0), Pool(0))), at(3, mk(MOV, 64, M(R9, 1024), I(77))), at(3, mk(JCC, 0, L(1)).cond(CondNE)), at(4, mk(RET, 0))},
	}
	for range 2 {
		require.NoError(t, a.Func(2, func(i int) []Inst { return blocks[i] }))
	}
	_, marks, err := a.Finish(make([]byte, 64))
	require.NoError(t, err)
	require.Equal(t, []Mark{{0, 1}, {14, 2}, {24, 3}, {37, 4}, {38, 1}, {52, 2}, {62, 3}, {75, 4}}, marks)

	var b strings.Builder
	require.NoError(t, a.List(&b, func(pos int32) string {
		return map[int32]string{1: "saxpy.go:10", 2: "saxpy.go:12", 3: "saxpy.go:12"}[pos]
	}))
	const want = `.0:
                                      # saxpy.go:10
     0  c5 fd ef c0                   vpxor ymm0, ymm0, ymm0
     4  49 b9 00 00 00 00 00 01 00 00 mov r9, 1099511627776
.1:
                                      # saxpy.go:12
     e  62 f1 7c 48 58 05 68 00 00 00 vaddps zmm0, zmm0, zmmword ptr [rip + pool+0]
    18  49 c7 81 00 04 00 00 4d 00 00 mov qword ptr [r9 + 1024], 77
        00
    23  75 e9                         jne .1
    25  c3                            ret
`
	got := b.String()
	if d := cmp.Diff(want, got[:min(len(got), len(want))]); d != "" {
		t.Error(d)
	}
	require.Equal(t, 2, strings.Count(got, ".1:\n"))
	require.Equal(t, 2, strings.Count(got, ".0:\n"))
}

// TestReset checks that an assembler is as new after Reset, and leaves the code that
// it made alone.
func TestReset(t *testing.T) {
	var a Assembler
	build := func(n int) []byte {
		a.Reset()
		require.NoError(t, a.Func(2, func(i int) []Inst {
			return []Inst{mk(MOV, 32, R(RAX), I(int64(n))), mk(JMP, 0, L(1-i))}
		}))
		code, _, err := a.Finish([]byte{byte(n)})
		require.NoError(t, err)
		return code
	}
	first := build(1)
	kept := string(first)
	second := build(2)
	require.Equal(t, kept, string(first))
	require.Equal(t, len(first), len(second))
	require.Equal(t, kept, string(build(1)))
}

// TestNeverPanics gives instructions of random parts: each is encoded or refused.
func TestNeverPanics(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	regs := func() Reg {
		switch r.IntN(6) {
		case 0:
			return Virtual(Class(r.IntN(4)), r.IntN(40))
		case 1:
			return Reg(r.Uint32())
		}
		return Phys(Class(r.IntN(4)), r.IntN(34))
	}
	good := 0
	for range 300000 {
		in := Inst{Op: Op(r.IntN(int(numOps) + 2)), Width: 8 << r.IntN(8), Cond: Cond(r.IntN(20)), Pos: int32(r.IntN(3))}
		if r.IntN(4) == 0 {
			in.Mask, in.Zero, in.Bcast, in.Lock = regs(), r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(9) == 0
		}
		for i := range r.IntN(5) {
			in.Args[i] = Arg{Kind: ArgKind(r.IntN(7)), Scale: uint8(1 << r.IntN(5)), Reg: regs(), Index: regs(), Disp: int32(r.Uint32()), Imm: int64(r.Uint64() >> r.IntN(64))}
			if r.IntN(2) == 0 {
				in.Args[i] = R(regs())
			}
		}
		var a Assembler
		a.Block(0)
		text := in.String()
		err := a.Inst(&in)
		switch {
		case err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", text)):
			t.Fatalf("error %v does not name %q", err, text)
		case err == nil:
			good++
			_, _, _ = a.Finish(nil)
			if len(a.code) > 0 && len(a.buf) > 15 {
				t.Fatalf("%s has %d bytes", text, len(a.buf))
			}
		}
		if in.Op < numOps {
			in.AppendUses(nil)
			in.AppendDefs(nil)
			in.Op.CanBeMem(r.IntN(4))
		}
	}
	if good < 1000 {
		t.Errorf("only %d of the random instructions are real", good)
	}
}

func BenchmarkAssemble(b *testing.B) {
	var insts []Inst
	for _, f := range allRows() {
		if list := samples(f); len(list) > 0 && f.args[0] != toLabel {
			insts = append(insts, list[len(list)/2])
		}
	}
	insts = insts[:min(len(insts), 980)]
	for i := range 20 {
		insts = append(insts, mk(JCC, 0, L(i%2)))
	}
	for i := range insts {
		for k := range insts[i].Args {
			if a := &insts[i].Args[k]; a.Kind == LabelArg || a.Kind == PoolArg {
				a.Imm = 0
			}
		}
	}
	half := len(insts) / 2
	b.ReportAllocs()
	for b.Loop() {
		var a Assembler
		if err := a.Func(2, func(i int) []Inst { return insts[i*half:][:half] }); err != nil {
			b.Fatal(err)
		}
		if _, _, err := a.Finish(make([]byte, 256)); err != nil {
			b.Fatal(err)
		}
	}
}
