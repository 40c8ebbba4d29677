package asm

import "testing"

// sampler makes instructions of a row: registers low, middle and high, memory of all
// kinds of address, masks, broadcasts and immediates.
type sampler struct {
	f    *form
	in   Inst
	list []Inst
	n    int
}

// allRows returns the rows of the table.
func allRows() (list []*form) {
	for op := range ops {
		for i := range ops[op].forms {
			list = append(list, &ops[op].forms[i])
		}
	}
	return list
}

// samples returns instructions of a row, for which there is an encoding.
func samples(f *form) []Inst {
	s := sampler{f: f}
	for _, w := range f.testWidths() {
		s.in = Inst{Op: f.op, Width: w}
		s.registers()
		s.memory()
		s.immediates()
	}
	var good []Inst
	for i := range s.list {
		if a := &s.list[i].Args; f.op == XCHG && a[0] == a[1] {
			continue // LLVM knows that it is a nop
		}
		if _, _, err := s.list[i].form(); err == nil {
			good = append(good, s.list[i])
		}
	}
	return good
}

func (f *form) testWidths() (list []uint16) {
	if f.sizes&anyWidth != 0 {
		return []uint16{64}
	}
	for w := uint16(8); w <= 512; w *= 2 {
		if f.fitsWidth(w) {
			list = append(list, w)
		}
	}
	return list
}

// add adds the instruction as it is, and with masks.
func (s *sampler) add() {
	s.n++
	in := s.in
	in.Cond = Cond(s.n % 16)
	if s.f.flags&gather != 0 {
		in.Mask = Phys(Mask, s.n%7+1)
		s.list = append(s.list, in)
		return
	}
	s.list = append(s.list, in)
	if in.lockable() {
		in.Lock = true
		s.list = append(s.list, in)
	}
	if s.f.enc < evex || s.n%3 != 0 {
		return
	}
	in.Mask = Phys(Mask, s.n%7+1)
	s.list = append(s.list, in)
	in.Zero = true
	s.list = append(s.list, in)
}

// fill gives operand i a register, number n of a row of 32.
func (s *sampler) arg(i, n int) Arg {
	p := s.f.args[i]
	switch {
	case p == 0:
		return Arg{}
	case p&checks == isAcc:
		return R(RAX)
	case p&checks == isCL:
		return R(RCX)
	case p&vec != 0:
		return R(Phys(Vec, n))
	case p&mask != 0:
		return R(Phys(Mask, n%8))
	case p&gpr != 0:
		return R(Phys(GPR, n%16))
	case p&imm != 0:
		return I(s.immediate(n))
	case p&vmem != 0:
		return MX(Phys(GPR, n*5%16), Phys(Vec, (n+3)%32), 4, int32(n))
	case p&mem != 0:
		return M(Phys(GPR, n%16), 0)
	}
	return L(0)
}

func (s *sampler) immediate(n int) int64 {
	switch s.f.immCheck() {
	case isOne:
		return 1
	case isEqual:
		return 0
	case isGreater:
		return 6
	case isUint32:
		return 0x80000000 + int64(n)
	case isTile:
		return int64(n % 8)
	case isInt64:
		return 0x123456789abcdef0 + int64(n)
	}
	return int64(n)
}

func (f *form) immCheck() param {
	for _, p := range f.args {
		if p&imm != 0 {
			return p & checks
		}
	}
	return 0
}

// registers adds instructions whose operands are registers of the lower eight, of
// the next eight, and of those that only EVEX has, alone and together.
func (s *sampler) registers() {
	for _, base := range []int{0, 8, 16, 24} {
		for d := range 3 {
			for i := range s.in.Args {
				s.in.Args[i] = s.arg(i, base+(d*3+i*2)%8)
			}
			s.add()
		}
		for alone := range s.in.Args {
			for i := range s.in.Args {
				s.in.Args[i] = s.arg(i, 1+i)
			}
			s.in.Args[alone] = s.arg(alone, base+5)
			s.add()
		}
	}
}

// memory adds instructions with all kinds of address.
func (s *sampler) memory() {
	for k, p := range s.f.args {
		if p&(mem|vmem) == 0 {
			continue
		}
		for i := range s.in.Args {
			s.in.Args[i] = s.arg(i, 1+(s.n+i*5)%7)
		}
		n := p.memSize().bits(int(s.in.Width)) / 8
		for i, a := range s.addresses(p, int32(max(n, 1))) {
			if a.Kind == MemArg && a.Disp%int32(max(n, 1)) != 0 && (i+s.n)%4 != 0 {
				continue // only distances that may be shortened are tried with each row
			}
			s.in.Args[k] = a
			s.add()
			if s.f.flags&(f4|f8) != 0 && s.n%3 == 0 {
				s.in.Bcast = true
				s.add()
				s.in.Bcast = false
			}
			if s.n%4 == 0 { // other registers high
				in := s.in
				for i := range s.in.Args {
					if i != k {
						s.in.Args[i] = s.arg(i, 17+(s.n+i)%13)
					}
				}
				s.add()
				s.in = in
			}
		}
	}
}

func (s *sampler) addresses(p param, n int32) (list []Arg) {
	disps := []int32{0, 1, -1, 8, 127, 128, -128, -129, n, -n, n * 127, n * 128, -n * 128, -n * 129, n + 1, 4 * 127, 8 * -128, 1 << 20, -1 << 31}
	bases := []Reg{RAX, RSP, RBP, RSI, R8, R12, R13, R15}
	if p&vmem != 0 {
		for i, d := range disps {
			list = append(list, MX(bases[i%len(bases)], Phys(Vec, 8+i), 1<<(i%4), d))
		}
		return append(list, MX(RAX, Phys(Vec, 20), 8, 0), MX(0, Phys(Vec, 5), 4, 16))
	}
	for i, d := range disps {
		list = append(list, M(bases[i%len(bases)], d), MX(bases[(i+3)%len(bases)], []Reg{RCX, RBP, R12, R13, R9}[i%5], 1<<(i%4), d))
	}
	b := bases[s.n%len(bases)]
	list = append(list, M(b, 0), M(b, 64), MX(b, RDX, 2, 0), MX(b, R13, 8, -64))
	list = append(list, MX(0, RDX, 8, 16), MX(0, R12, 2, 0), M(0, 4096), Pool(64), Arg{Kind: PoolArg, Imm: 32, Disp: 4})
	if p&label != 0 {
		list = append(list, L(3))
	}
	return list
}

// immediates adds instructions with immediates at their limits.
func (s *sampler) immediates() {
	for i, p := range s.f.args {
		if p&imm == 0 {
			continue
		}
		for _, v := range []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 31, 32, 100, 127, 128, 200, 255, 256, -1, -5, -128, -129, 32767, 32768, 65535, -32768, 1<<31 - 1, 1 << 31, 1<<32 - 1, -1 << 31, 1 << 32, 1<<63 - 1, -1 << 63} {
			for k := range s.in.Args {
				s.in.Args[k] = s.arg(k, (s.n+k)%8)
			}
			s.in.Args[i] = I(v)
			s.add()
		}
	}
}

// TestEveryRowIsUsed finds rows that no operands lead to: those before take them.
func TestEveryRowIsUsed(t *testing.T) {
	var before *form
	for _, f := range allRows() {
		used := before != nil && before.op == f.op && before.flags&reversible != 0
		before = f
		for _, in := range samples(f) {
			g, _, err := in.form()
			if used = used || err == nil && g == f; used {
				break
			}
		}
		if !used {
			t.Errorf("row %+v is never used", *f)
		}
	}
}
