package asm

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
)

// llvmFeatures are what the table has, for llvm-mc.
const llvmFeatures = "--mattr=+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx512vnni,+avx512bf16,+avx512vbmi,+avx512ifma,+avx512vpopcntdq,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+prfchw"

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

// roundTrips returns instructions of all rows, their code and text.
func roundTrips(t *testing.T) (list []Inst, code [][]byte, text []string) {
	t.Helper()
	for _, f := range allRows() {
		if f.args[0] == toLabel {
			continue // TestJumps
		}
		for _, in := range samples(f) {
			var a Assembler
			if err := a.Inst(&in); err != nil {
				t.Error(err)
				continue
			}
			list, code = append(list, in), append(code, a.buf)
			text = append(text, ripText.ReplaceAllString(in.String(), "rip"))
		}
	}
	return list, code, text
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
	list, code, text := roundTrips(t)
	bad := map[Op]int{}
	for i, got := range disassemble(t, code) {
		if !sameText(got, text[i], &list[i]) && bad[list[i].Op] < 3 {
			bad[list[i].Op]++
			t.Errorf("%q is encoded as % x, %q", text[i], code[i], got)
		}
	}
	t.Logf("%d instructions of %d rows", len(list), len(allRows()))
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
	list, code, text := roundTrips(t)
	var other []int
	var pieces [][]byte
	for i, theirs := range assemble(t, text) {
		if bytes.Equal(theirs, code[i]) {
			continue
		}
		if len(code[i]) > len(theirs) && !(longer(&list[i]) && len(code[i]) == len(theirs)+1) {
			t.Errorf("%q: our code % x is longer than LLVM's % x", text[i], code[i], theirs)
		}
		other, pieces = append(other, i), append(pieces, theirs)
	}
	for k, got := range disassemble(t, pieces) {
		if i := other[k]; !sameText(got, text[i], &list[i]) {
			t.Errorf("LLVM takes %q for %q", text[i], got)
		}
	}
	t.Logf("%d of %d instructions have other code", len(other), len(list))
}
