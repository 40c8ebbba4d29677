package asm

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
)

// instances returns instructions of a form with registers and memory of all kinds.
func instances(op Op, f *form) (list []Inst) {
	widths := []uint16{128, 256, 512}
	switch {
	case f.wide:
		widths = []uint16{32, 64}
	case f.l >= 0 || op == VZEROUPPER:
		widths = []uint16{16}
	case f.tuple.bytes != 0 && f.tuple.bytes < 16 && f.args[0].mem == 0 && f.args[len(f.args)-1].class == 'v' && f.args[len(f.args)-1].mem == '*':
		widths = []uint16{128} // scalars
	}
	mems := []Arg{M(RBX, 0), M(R13, 0), M(RSP, 64), MX(RBP, R9, 4, -128), MX(R12, RCX, 8, 4096), M(RAX, 60), MX(0, RDX, 2, 16)}
	for _, w := range widths {
		for n := range 8 {
			in := Inst{Op: op, Width: w}
			high := n%2 == 1 && f.evex && !f.wide && w != 16
			for i, p := range f.args {
				in.Args[i] = sample(p, n, i, high, mems[n%len(mems)])
			}
			if !f.takes(&in) {
				continue
			}
			if f.evex && (p0(f).class == 'v' || p0(f).class == 'k') && n >= 4 && p0(f).slot == 'r' && !f.wide {
				in.Mask = Phys(Mask, 1+n%7)
				in.Zero = n%3 == 0 && p0(f).role == Write && p0(f).class == 'v'
			}
			if op.MaskRole() == ReadWrite {
				in.Mask = Phys(Mask, 1+n%7)
			}
			if f.bcast != 0 && n == 6 && f.ext < 0 {
				for i, p := range f.args {
					if p.mem == '*' && p.slot == 'm' {
						in.Args[i] = mems[n%len(mems)]
						in.Bcast = true
					}
				}
			}
			list = append(list, in)
		}
	}
	return list
}

func p0(f *form) param {
	if len(f.args) == 0 {
		return param{}
	}
	return f.args[0]
}

func sample(p param, n, i int, high bool, mem Arg) Arg {
	num := (n*5 + i*3 + 1) % 16
	vec := num
	if high {
		vec = (n*7+i*11)%16 + 16
	}
	switch {
	case p.slot == 'i':
		return I(int64(n + 1))
	case p.slot == '4':
		return R(Phys(Vec, num))
	case p.mem == 'X' || p.mem == 'Y':
		return MX(RSI, Phys(Vec, (vec+1)%32%16+map[bool]int{true: 16}[high]), 4, 32*int32(n))
	case p.mem == 'M' || p.mem == '*' && n%4 >= 2:
		return mem
	case p.class == 'g':
		return R(Phys(GPR, num))
	case p.class == 'k':
		return R(Phys(Mask, num%7+1))
	}
	return R(Phys(Vec, vec))
}

// generalInstances returns instructions of general registers.
func generalInstances() (list []Inst) {
	regs := []Reg{RAX, RBX, RSI, R8, R15, RDI, RBP}
	mems := []Arg{M(RBX, 0), M(R13, 8), MX(RBP, R9, 4, -128), MX(R12, RCX, 8, 4096), M(RSP, 16)}
	add := func(op Op, w uint16, args ...Arg) {
		in := Inst{Op: op, Width: w, Cond: Cond(len(list) % 16)}
		copy(in.Args[:], args)
		list = append(list, in)
	}
	for n, r := range regs {
		q, m := regs[(n+3)%len(regs)], mems[n%len(mems)]
		for _, w := range []uint16{8, 16, 32, 64} {
			for _, op := range []Op{ADD, OR, AND, SUB, XOR, CMP, MOV} {
				add(op, w, R(r), R(q))
				add(op, w, R(r), m)
				add(op, w, m, R(q))
				add(op, w, R(r), I(int64(n)+1))
				add(op, w, m, I(100))
			}
			for _, op := range []Op{NEG, NOT, MUL, IMUL1, DIV, IDIV, INC, DEC} {
				add(op, w, R(r))
			}
			for _, op := range []Op{SHL, SHR, SAR, ROL, ROR} {
				add(op, w, R(r), I(3))
				add(op, w, R(r), R(RCX))
			}
			add(TEST, w, R(r), R(q))
			add(XCHG, w, m, R(q))
			add(LOCK_XADD, w, m, R(q))
			add(LOCK_CMPXCHG, w, m, R(q))
			if w >= 16 {
				add(IMUL, w, R(r), R(q))
				add(IMUL, w, R(r), m, I(1000))
				add(CMOVCC, w, R(r), m)
				for _, op := range []Op{POPCNT, LZCNT, TZCNT} {
					add(op, w, R(r), R(q))
				}
			}
			if w >= 32 {
				add(MOVZXB, w, R(r), R(q))
				add(MOVSXB, w, R(r), m)
				add(MOVZXW, w, R(r), R(q))
				add(MOVSXW, w, R(r), m)
				add(ADD, w, R(r), I(100000))
				add(BSWAP, w, R(r))
				add(BT, w, R(r), R(q))
			}
		}
		add(SETCC, 8, R(r))
		add(MOVSXD, 64, R(r), R(q))
		add(LEA, 64, R(r), m)
		add(MOV, 64, R(r), I(1<<40))
		add(MOV, 64, R(r), I(-5))
		add(PUSH, 64, R(r))
		add(POP, 64, R(r))
	}
	for _, op := range []Op{RET, CQO, CDQ, MFENCE, PAUSE, UD2, NOP} {
		add(op, 64)
	}
	return list
}

// TestDisassembles compares what LLVM reads in the bytes of every form with what
// they were made of.
func TestDisassembles(t *testing.T) {
	mc := tooltest.Find(t, "KILN_LLVM_MC", "llvm-mc-19", "llvm-mc")
	list := generalInstances()
	for op := VMOVUPS; op < numOps; op++ {
		for i := range entries[op].forms {
			list = append(list, instances(op, &entries[op].forms[i])...)
		}
	}
	var text bytes.Buffer
	var want []string
	for i := range list {
		in := &list[i]
		var a Assembler
		if err := a.Inst(in); err != nil {
			if strings.Contains(err.Error(), "has no form with a mask") {
				continue // 512 bits of what has 256
			}
			t.Error(err)
			continue
		}
		for _, b := range a.buf {
			fmt.Fprintf(&text, "0x%02x ", b)
		}
		text.WriteByte('\n')
		want = append(want, in.String())
	}
	cmd := exec.Command(mc, "--disassemble", "--triple=x86_64", "--output-asm-variant=1", "--mattr=+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx512vnni,+avx512bf16,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt")
	cmd.Stdin = &text
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("llvm-mc: %v\n%s", err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("llvm-mc cannot read some code:\n%.2000s", stderr.String())
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if line = canonical(line); line != "" && !strings.HasPrefix(line, ".") {
			got = append(got, line)
		}
	}
	bad := 0
	for i := range min(len(got), len(want)) {
		if w := canonical(want[i]); got[i] != w && bad < 60 {
			bad++
			t.Errorf("%q is encoded as %q", w, got[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d instructions were encoded, %d read", len(want), len(got))
	}
	t.Logf("%d instructions of %d forms", len(want), len(list))
}

// canonical brings the spelling of an instruction into one form.
func canonical(s string) string {
	s, _, _ = strings.Cut(s, "#")
	s = strings.Join(strings.Fields(s), " ")
	return strings.ReplaceAll(s, "movabs", "mov")
}
