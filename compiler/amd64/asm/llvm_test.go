package asm

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

// llvmFeatures are what the table has, for llvm-mc.
const llvmFeatures = "--mattr=+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx512vnni,+avxvnni,+avx512bf16,+avx512vbmi,+avx512ifma,+avx512vpopcntdq,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+prfchw,+amx-tile,+amx-bf16,+amx-int8"

// llvmMC runs llvm-mc on an input and returns its output.
func llvmMC(t *testing.T, input []byte, args ...string) string {
	t.Helper()
	mc := tooltest.Find(t, "KILN_LLVM_MC", "llvm-mc-19", "llvm-mc")
	cmd := exec.Command(mc, append([]string{"--triple=x86_64", "--output-asm-variant=1", llvmFeatures}, args...)...)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("llvm-mc %v: %v\n%.4000s", args, err, stderr.String())
	}
	return string(out)
}

// disassemble returns what LLVM reads in pieces of code, each on its own.
func disassemble(t *testing.T, pieces [][]byte) []string {
	t.Helper()
	var text bytes.Buffer
	for _, p := range pieces {
		for _, b := range append(p[:len(p):len(p)], 0xf4) { // hlt ends a piece
			fmt.Fprintf(&text, "0x%02x ", b)
		}
		text.WriteByte('\n')
	}
	var list []string
	var piece []string
	for line := range strings.Lines(llvmMC(t, text.Bytes(), "--disassemble")) {
		switch line = canonical(line); {
		case line == "hlt":
			list = append(list, strings.Join(piece, "; "))
			piece = piece[:0]
		case line != "" && line[0] != '.':
			piece = append(piece, line)
		}
	}
	if len(list) != len(pieces) {
		t.Fatalf("LLVM read %d of %d instructions", len(list), len(pieces))
	}
	return list
}

// encodingText is what llvm-mc appends with --show-encoding.
var encodingText = regexp.MustCompile(`# encoding: \[([^]]*)\]`)

// assemble returns the code that LLVM makes of instructions.
func assemble(t *testing.T, text []string) [][]byte {
	t.Helper()
	out := llvmMC(t, []byte(strings.Join(text, "\n")+"\n"), "--x86-asm-syntax=intel", "--show-encoding")
	var list [][]byte
	for _, m := range encodingText.FindAllStringSubmatch(out, -1) {
		var code []byte
		for s := range strings.SplitSeq(m[1], ",") {
			var b byte
			if _, err := fmt.Sscanf(s, "0x%02x", &b); err != nil {
				t.Fatalf("encoding %q: %v", m[0], err)
			}
			code = append(code, b)
		}
		list = append(list, code)
	}
	if len(list) != len(text) {
		t.Fatalf("LLVM wrote %d of %d instructions", len(list), len(text))
	}
	return list
}

// canonical brings the spelling of an instruction into one form.
func canonical(s string) string {
	s, _, _ = strings.Cut(s, "#")
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "movabs", "mov")
}

// ripText are the operands that are relative to rip; before Finish they are 0.
var ripText = regexp.MustCompile(`rip \+ (pool\+|\.)\d+`)

// trips are instructions, their code and text.
type trips struct {
	list []Inst
	code [][]byte
	text []string
	err  error
}

func (x *trips) add(in Inst) {
	var a Assembler
	if err := a.Inst(&in); err != nil {
		x.err = errors.Join(x.err, err)
		return
	}
	x.list, x.code = append(x.list, in), append(x.code, a.buf)
	x.text = append(x.text, ripText.ReplaceAllString(in.String(), "rip"))
}

// allTrips are instructions of all rows.
var allTrips = sync.OnceValue(func() (x trips) {
	for _, f := range allRows() {
		if f.args[0] == toLabel {
			continue // TestJumps
		}
		for _, in := range samples(f) {
			x.add(in)
		}
	}
	return x
})

// randomTrips are instructions of random rows with random operands.
func randomTrips(r *rand.Rand, n int) (x trips) {
	rows := allRows()
	for len(x.list) < n {
		f := rows[r.IntN(len(rows))]
		widths := f.testWidths()
		s := sampler{f: f, in: Inst{Op: f.op, Width: widths[r.IntN(len(widths))], Cond: Cond(r.IntN(16))}}
		for i, p := range f.args {
			s.in.Args[i] = s.arg(i, r.IntN(32))
			if p&imm != 0 && p&checks <= isInt {
				s.in.Args[i].Imm = int64(r.Uint64()) >> r.IntN(64)
			}
			if p&(mem|vmem) != 0 && (p&anyKind&^(mem|vmem|label) == 0 || r.IntN(2) == 0) {
				s.in.Args[i] = randomAddress(r, p, int(s.in.Width))
				s.in.Bcast = r.IntN(3) == 0
			}
		}
		if r.IntN(3) == 0 || f.flags&gather != 0 {
			s.in.Mask, s.in.Zero = Phys(Mask, r.IntN(8)), r.IntN(2) == 0
		}
		s.in.Lock = r.IntN(2) == 0 && s.in.lockable()
		if _, _, err := s.in.form(); err == nil && f.args[0] != toLabel && f.op != XCHG {
			x.add(s.in)
		}
	}
	return x
}

func randomAddress(r *rand.Rand, p param, width int) Arg {
	a := Arg{Kind: MemArg, Scale: 1 << r.IntN(4), Reg: Phys(GPR, r.IntN(16)), Disp: int32(r.Uint32()) >> r.IntN(32)}
	if r.IntN(2) == 0 {
		a.Disp = int32(r.IntN(300)-150) * int32(max(p.memSize().bits(width)/8, 1))
	}
	switch {
	case p&vmem != 0:
		a.Index = Phys(Vec, r.IntN(32))
	case r.IntN(2) == 0:
		a.Index = Phys(GPR, r.IntN(16))
	}
	return a
}

func TestRandomInstructions(t *testing.T) {
	x := randomTrips(rand.New(rand.NewPCG(11, 12)), 30000)
	require.NoError(t, x.err)
	x.disassemble(t)
	x.assemble(t)
}

// sameText reports whether LLVM's text says the same as an instruction's.
func sameText(got, want string, in *Inst) bool {
	want = canonical(want)
	if got == want {
		return true
	}
	switch x := *in; {
	case strings.Contains(got, "lock; "):
		return strings.Replace(got, "lock; ", "lock ", 1) == want
	case in.Op == XCHG:
		x.Args[0], x.Args[1] = in.Args[1], in.Args[0]
		return got == canonical(x.String())
	case (ops[in.Op].flags&commutes != 0 || longer(in)) && in.Args[2].Kind == RegArg: // sources exchanged
		x.Args[1], x.Args[2] = in.Args[2], in.Args[1]
		return got == canonical(x.String())
	case in.Args[1].Kind == ImmArg && in.Args[1].Imm == 1: // shl eax, 1
		return got+", 1" == want
	}
	return false
}

// TestDisassembles compares what LLVM reads in the bytes of every form with what
// they were made of.
func TestDisassembles(t *testing.T) {
	x := allTrips()
	require.NoError(t, x.err)
	x.disassemble(t)
	t.Logf("%d instructions of %d rows", len(x.list), len(allRows()))
}

func (x *trips) disassemble(t *testing.T) {
	t.Helper()
	bad := map[Op]int{}
	for i, got := range disassemble(t, x.code) {
		if in := &x.list[i]; !sameText(got, x.text[i], in) && bad[in.Op] < 3 {
			bad[in.Op]++
			t.Errorf("%q is encoded as % x, %q", x.text[i], x.code[i], got)
		}
	}
}

// longer reports whether our code may be longer than LLVM's, by a byte: LLVM
// exchanges the sources of additions and multiplications of floats for a shorter
// prefix, which changes the payload of a result that is not a number.
func longer(in *Inst) bool {
	s := in.Op.String()
	return strings.HasPrefix(s, "vadd") || strings.HasPrefix(s, "vmul") || strings.HasPrefix(s, "vcmp")
}

// TestAssembles compares the code that LLVM makes of the text of every form with
// ours: it is ours, or something no shorter that it reads as the same.
func TestAssembles(t *testing.T) {
	x := allTrips()
	require.NoError(t, x.err)
	x.assemble(t)
}

func (x *trips) assemble(t *testing.T) {
	t.Helper()
	var other []int
	var pieces [][]byte
	for i, theirs := range assemble(t, x.text) {
		if bytes.Equal(theirs, x.code[i]) {
			continue
		}
		if n := len(x.code[i]); n > len(theirs) && !(longer(&x.list[i]) && n == len(theirs)+1) {
			t.Errorf("%q: our code % x is longer than LLVM's % x", x.text[i], x.code[i], theirs)
		}
		other, pieces = append(other, i), append(pieces, theirs)
	}
	for k, got := range disassemble(t, pieces) {
		if i := other[k]; !sameText(got, x.text[i], &x.list[i]) {
			t.Errorf("LLVM takes %q for %q", x.text[i], got)
		}
	}
	t.Logf("%d of %d instructions have other code", len(other), len(x.list))
}
