package asm

// opInfo is what the table says about an operation.
type opInfo struct {
	forms  []form
	roles  [4]Role
	memory uint8 // bit i: operand i can be memory, see CanBeMem
	flags  flags
}

var ops = index()

// index finds the rows of each operation.
func index() *[numOps]opInfo {
	t := new([numOps]opInfo)
	t[COPY].roles, t[UNDEF].roles = [4]Role{Write, Read}, [4]Role{Write}
	for _, rows := range [...][]form{generalRows[:], moveRows[:], floatRows[:], convertRows[:], integerRows[:], shuffleRows[:], maskRows[:], tileRows[:]} {
		for from := 0; from < len(rows); {
			to := from + 1
			for to < len(rows) && rows[to].op == rows[from].op {
				to++
			}
			t[rows[from].op].fill(rows[from:to])
			from = to
		}
	}
	t[VMOVAPS].memory = 0 // it must be aligned
	t[CMP].memory |= 1
	return t
}

// fill sets what is known from the rows of an operation.
func (x *opInfo) fill(rows []form) {
	x.forms = rows
	never := uint8(0)
	for i := range rows {
		f := &rows[i]
		x.flags |= f.flags
		for k, p := range f.args {
			if p&(gpr|vec|mask|imm|label) != 0 {
				x.roles[k] |= p.role()
			}
			switch {
			case p&(gpr|vec|mask) == 0 || p&places == implied || f.hasMemoryOnly():
			case p&mem != 0 && p&mask == 0 && p.role() == Read && p&places == inRM:
				x.memory |= 1 << k
			default:
				never |= 1 << k
			}
		}
	}
	x.memory &^= never
}

// shape returns the row that says what the operands are, nil if there is none. It
// does not say that there is an encoding for the registers.
func (in *Inst) shape() *form {
	if in.Op >= numOps {
		return nil
	}
	k := in.kinds()
	rows := ops[in.Op].forms
	for i := range rows {
		if f := &rows[i]; f.fitsWidth(in.Width) && f.takes(in, &k) {
			return f
		}
	}
	return nil
}
