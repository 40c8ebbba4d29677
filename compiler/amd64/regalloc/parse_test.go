package regalloc

import (
	"strconv"
	"strings"
	"testing"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

var opNames = map[string]asm.Op{}

func init() {
	for _, op := range []asm.Op{
		asm.COPY, asm.UNDEF, asm.BARRIER, asm.JMP, asm.JCC, asm.RET, asm.MOV, asm.ADD, asm.CMP, asm.KMOVQ,
		asm.VMOVAPS, asm.VMOVUPS, asm.VADDPS, asm.VFMADD231PS, asm.VPGATHERDDK, asm.VPCMPD, asm.VPXORD, asm.CALL, asm.KANDW, asm.KORW, asm.KMOVW, asm.SUB, asm.VFMADD213PS, asm.VFMADD132PS,
	} {
		opNames[opText(op)] = op
	}
}

// parse reads code as text prints it.
func parse(t testing.TB, src string) *Func {
	f := &Func{Remat: map[asm.Reg]asm.Inst{}}
	for _, line := range strings.Split(src, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "b") {
			_, depth, _ := strings.Cut(line, "depth ")
			d, err := strconv.Atoi(depth)
			if err != nil {
				t.Fatalf("block %q: %v", line, err)
			}
			f.Blocks = append(f.Blocks, &Block{Depth: d})
			continue
		}
		rest, remat := strings.CutPrefix(line, "remat ")
		in := parseInst(t, f, rest)
		if remat {
			f.Remat[in.Args[0].Reg] = in
			continue
		}
		b := f.Blocks[len(f.Blocks)-1]
		b.Insts = append(b.Insts, in)
	}
	return f
}

func parseInst(t testing.TB, f *Func, s string) asm.Inst {
	name, rest, _ := strings.Cut(s, " ")
	op, ok := opNames[name]
	if !ok {
		t.Fatalf("no operation %q", name)
	}
	in := asm.Inst{Op: op, Width: 64}
	for i, arg := range strings.Split(rest, ", ") {
		if arg == "" {
			continue
		}
		arg, in.Zero = cutZero(arg, in.Zero)
		if reg, mask, ok := strings.Cut(arg, "{"); ok {
			arg, in.Mask = reg, parseReg(t, f, strings.TrimSuffix(mask, "}"))
		}
		in.Args[i] = parseArg(t, f, arg)
	}
	if r := in.Args[0].Reg; r.Class() == asm.Vec {
		in.Width = 512
	}
	return in
}

func cutZero(arg string, was bool) (string, bool) {
	s, ok := strings.CutSuffix(arg, "{z}")
	return s, ok || was
}

func parseArg(t testing.TB, f *Func, s string) asm.Arg {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return asm.I(n)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(s, "b")); err == nil {
		return asm.L(n)
	}
	mem, ok := strings.CutPrefix(s, "[")
	if !ok {
		return asm.R(parseReg(t, f, s))
	}
	arg := asm.Arg{Kind: asm.MemArg, Scale: 1}
	for _, part := range strings.Split(strings.TrimSuffix(mem, "]"), "+") {
		reg, scale, scaled := strings.Cut(part, "*")
		n, err := strconv.Atoi(part)
		switch {
		case err == nil:
			arg.Disp = int32(n)
		case scaled:
			k, _ := strconv.Atoi(scale)
			arg.Index, arg.Scale = parseReg(t, f, reg), uint8(k)
		default:
			arg.Reg = parseReg(t, f, reg)
		}
	}
	return arg
}

func parseReg(t testing.TB, f *Func, s string) asm.Reg {
	class, ok := map[byte]asm.Class{'g': asm.GPR, 'v': asm.Vec, 'k': asm.Mask, 'Z': asm.Vec, 'K': asm.Mask}[s[0]]
	n, err := strconv.Atoi(s[1:])
	if ok && err == nil {
		if s[0] < 'a' {
			return asm.Phys(class, n)
		}
		f.Virt[class] = max(f.Virt[class], n+1)
		return asm.Virtual(class, n)
	}
	for n := range 16 {
		if r := asm.Phys(asm.GPR, n); regText(r) == s {
			return r
		}
	}
	t.Fatalf("no register %q", s)
	return 0
}
