package asm

import (
	"fmt"
	"strconv"
	"strings"
)

// form is a way to encode an operation.
type form struct {
	vex, evex bool
	opmap, pp uint8
	opcode    uint8
	ext       int8 // in ModRM.reg, -1 for none
	w, evexW  uint8
	wide      bool // W is that of the general operand
	l         int8 // VEX.L of mask operations, -1: by the width
	args      []param
	tuple     tuple
	bcast     uint8 // bytes of an element that can be broadcast, 0 for none
}

// param is an operand of a form.
type param struct {
	role  Role
	slot  byte // r m v i 4
	class byte // v h q x y g k, 0 of immediates
	mem   byte // 0, * M X Y
}

// tuple says what the 8-bit displacement of an EVEX instruction counts in: the
// width of the vector shifted right by shift, or bytes if that is not 0.
type tuple struct {
	bytes uint8
	shift uint8
}

// entry is what the table has of an operation.
type entry struct {
	forms []form
}

var entries = func() (t [numOps]entry) {
	op := VMOVUPS
	for line := range strings.Lines(rows) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		for text := range strings.SplitSeq(rest, ";") {
			f, err := parseForm(strings.Fields(text))
			if err != nil {
				panic(fmt.Sprintf("asm: row %s: %v", name, err)) // a mistake in the table
			}
			t[op].forms = append(t[op].forms, f)
		}
		names[op] = strings.ToLower(name)
		op++
	}
	return t
}()

func parseForm(w []string) (f form, err error) {
	if len(w) != 7 {
		return f, fmt.Errorf("%d fields", len(w))
	}
	f.vex, f.evex = w[0] != "e", w[0] != "v"
	f.opmap, f.pp, f.ext, f.l = w[1][0]-'0', w[2][0]-'0', -1, -1
	code, ext, has := strings.Cut(w[3], "/")
	n, err := strconv.ParseUint(code, 16, 8)
	if err != nil {
		return f, err
	}
	f.opcode = uint8(n)
	if has {
		f.ext = int8(ext[0] - '0')
	}
	f.w, f.evexW = w[4][0]-'0', w[4][len(w[4])-1]-'0'
	if w[4] == "g" {
		f.wide, f.w, f.evexW = true, 0, 0
	}
	if w[5] != "-" {
		for text := range strings.SplitSeq(w[5], ",") {
			f.args = append(f.args, parseParam(text))
		}
	}
	return f, f.parseTuple(w[6])
}

func parseParam(s string) (p param) {
	p.role = Read
	switch s[0] {
	case '=':
		p.role, s = Write, s[1:]
	case '+':
		p.role, s = ReadWrite, s[1:]
	}
	p.slot = s[0]
	if len(s) > 1 {
		switch s[1] {
		case 'M', 'X', 'Y':
			p.mem = s[1]
		default:
			p.class = s[1]
		}
	}
	if len(s) > 2 {
		p.mem = s[2]
	}
	return p
}

func (f *form) parseTuple(s string) error {
	switch s {
	case "-", "g":
	case "-0", "-1":
		f.l = int8(s[1] - '0')
	case "f4", "f8":
		f.bcast = s[1] - '0'
	case "fm":
	case "h4":
		f.tuple.shift, f.bcast = 1, 4
	case "hm":
		f.tuple.shift = 1
	case "qm":
		f.tuple.shift = 2
	case "s1", "s2", "s4", "s8", "s4k", "s8k":
		f.tuple.bytes = s[1] - '0'
	case "t16":
		f.tuple.bytes = 16
	case "t32":
		f.tuple.bytes = 32
	default:
		return fmt.Errorf("tuple %q", s)
	}
	return nil
}

// takes reports whether the operands of an instruction fit the form.
func (f *form) takes(in *Inst) bool {
	for i := range in.Args {
		a := &in.Args[i]
		if i >= len(f.args) {
			if a.Kind != NoArg {
				return false
			}
			continue
		}
		if !f.args[i].takes(a) {
			return false
		}
	}
	return true
}

func (p *param) takes(a *Arg) bool {
	switch a.Kind {
	case RegArg:
		if p.mem == 'M' || p.mem == 'X' || p.mem == 'Y' {
			return false
		}
		switch p.class {
		case 'g':
			return a.Reg.Class() == GPR
		case 'k':
			return a.Reg.Class() == Mask
		case 0:
			return p.slot == '4' && a.Reg.Class() == Vec
		}
		return a.Reg.Class() == Vec
	case MemArg:
		vsib := p.mem == 'X' || p.mem == 'Y'
		return p.mem == '*' && a.Index.Class() != Vec || p.mem == 'M' || vsib && a.Index.Class() == Vec
	case PoolArg:
		return p.mem == '*' || p.mem == 'M'
	case ImmArg:
		return p.slot == 'i'
	}
	return false
}

// formOf returns the form of an instruction, nil if there is none for its operands.
func formOf(in *Inst) *form {
	forms := entries[in.Op].forms
	for i := range forms {
		if forms[i].takes(in) {
			return &forms[i]
		}
	}
	return nil
}
