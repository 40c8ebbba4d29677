package regalloc

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// gen makes random code that is valid: every register is written before it is read.
type gen struct {
	*rand.Rand
	f      *Func
	regs   [4]int
	consts [4]int // so many of the first registers of a class are constants
	cfg    Config
}

func (g *gen) reg(c asm.Class) asm.Reg { return asm.Virtual(c, g.Intn(g.regs[c])) }

// dst is a register that may be written: not a constant.
func (g *gen) dst(c asm.Class) asm.Reg {
	return asm.Virtual(c, g.consts[c]+g.Intn(g.regs[c]-g.consts[c]))
}

func inst(op asm.Op, args ...asm.Arg) asm.Inst {
	in := asm.Inst{Op: op, Width: 64}
	copy(in.Args[:], args)
	for _, a := range args {
		if a.Kind == asm.RegArg && a.Reg.Class() == asm.Vec {
			in.Width = 512
		}
	}
	return in
}

func (g *gen) inst() []asm.Inst {
	r, d := asm.R, g.dst
	switch g.Intn(17) {
	case 0:
		return []asm.Inst{inst(asm.MOV, r(d(asm.GPR)), asm.I(7))}
	case 1, 2:
		return []asm.Inst{inst(asm.ADD, r(d(asm.GPR)), r(g.reg(asm.GPR)))}
	case 3:
		return []asm.Inst{inst(asm.CMP, r(g.reg(asm.GPR)), r(g.reg(asm.GPR)))}
	case 4, 5:
		c := []asm.Class{asm.GPR, asm.Vec, asm.Mask}[g.Intn(3)]
		return []asm.Inst{inst(asm.COPY, r(d(c)), r(g.reg(c)))}
	case 6, 7:
		return []asm.Inst{inst(asm.VADDPS, r(d(asm.Vec)), r(g.reg(asm.Vec)), r(g.reg(asm.Vec)))}
	case 8:
		in := inst(asm.VADDPS, r(d(asm.Vec)), r(g.reg(asm.Vec)), r(g.reg(asm.Vec)))
		in.Mask, in.Zero = g.reg(asm.Mask), g.Intn(3) == 0
		return []asm.Inst{in}
	case 9, 10:
		return []asm.Inst{inst(asm.VFMADD231PS, r(d(asm.Vec)), r(g.reg(asm.Vec)), r(g.reg(asm.Vec)))}
	case 11:
		return []asm.Inst{inst(asm.VMOVUPS, r(d(asm.Vec)), asm.MX(g.reg(asm.GPR), g.reg(asm.GPR), 4, 8))}
	case 12:
		return []asm.Inst{inst(asm.VMOVUPS, asm.MX(g.reg(asm.GPR), g.reg(asm.GPR), 4, 8), r(g.reg(asm.Vec)))}
	case 13:
		return g.gather()
	case 15:
		x := r(d(asm.Vec))
		return []asm.Inst{inst(asm.VPXORD, x, x, x)}
	case 14:
		in := inst(asm.VPCMPD, r(d(asm.Mask)), r(g.reg(asm.Vec)), r(g.reg(asm.Vec)), asm.I(1))
		in.Mask = g.reg(asm.Mask)
		return []asm.Inst{in}
	}
	c := []asm.Class{asm.GPR, asm.Vec, asm.Mask}[g.Intn(3)]
	if g.Intn(4) == 0 {
		return []asm.Inst{inst(asm.UNDEF, r(d(c)))}
	}
	if g.Intn(3) == 0 {
		p := g.cfg.Regs[asm.GPR][g.Intn(len(g.cfg.Regs[asm.GPR]))]
		return []asm.Inst{inst(asm.COPY, r(p), r(g.reg(asm.GPR))), inst(asm.CMP, r(g.reg(asm.GPR)), r(p))}
	}
	return nil
}

// gather copies what a gather needs in registers that differ.
func (g *gen) gather() []asm.Inst {
	d, k, x := g.dst(asm.Vec), g.dst(asm.Mask), g.reg(asm.Vec)
	if d == x {
		return nil
	}
	in := inst(asm.VPGATHERDDK, asm.R(d), asm.MX(g.reg(asm.GPR), x, 4, 0))
	in.Mask = k
	out := []asm.Inst{inst(asm.UNDEF, asm.R(d)), inst(asm.COPY, asm.R(k), asm.R(g.reg(asm.Mask))), in}
	if g.Intn(2) == 0 {
		out[0] = inst(asm.COPY, asm.R(d), asm.R(x))
	}
	return out
}

func (g *gen) block(i, n int) *Block {
	b := &Block{Depth: g.Intn(4)}
	for range g.Intn(12) {
		switch {
		case g.Intn(8) == 0:
			b.Insts = append(b.Insts, inst(asm.JCC, asm.L(g.Intn(n))))
		case g.Intn(40) == 0:
			b.Insts = append(b.Insts, inst(asm.BARRIER))
		default:
			b.Insts = append(b.Insts, g.inst()...)
		}
	}
	switch {
	case i == n-1:
		b.Insts = append(b.Insts, inst(asm.RET))
	case g.Intn(4) == 0:
		b.Insts = append(b.Insts, inst(asm.JMP, asm.L(g.Intn(n))))
	}
	return b
}

// random makes code whose pressure and shape depend on the seed.
func random(seed int64) (*Func, Config) {
	g := &gen{Rand: rand.New(rand.NewSource(seed)), f: &Func{Remat: map[asm.Reg]asm.Inst{}}}
	g.cfg = V4(g.Intn(3) * 24)
	g.cfg.VecBytes = 32 << g.Intn(2)
	for c, least := range [...]int{asm.GPR: 4, asm.Vec: 4, asm.Mask: 3} {
		if least == 0 {
			continue
		}
		all := g.cfg.Regs[c]
		k := least + g.Intn(len(all)-least+1)
		if g.Intn(2) == 0 {
			k = least
		}
		g.cfg.Regs[c] = all[:k]
		g.regs[c] = 2 + g.Intn(2*k)
		g.consts[c] = g.Intn(min(3, g.regs[c]))
		g.f.Virt[c] = g.regs[c]
	}
	n := 1 + g.Intn(12)
	for i := range n {
		g.f.Blocks = append(g.f.Blocks, g.block(i, n))
	}
	g.f.Blocks = append([]*Block{{}}, g.f.Blocks...)
	for _, b := range g.f.Blocks {
		for k := range b.Insts {
			for l := range b.Insts[k].Args {
				if arg := &b.Insts[k].Args[l]; arg.Kind == asm.LabelArg {
					arg.Imm++
				}
			}
		}
	}
	g.define()
	return g.f, g.cfg
}

// define writes the constants, and all else that would be read before.
func (g *gen) define() {
	var head []asm.Inst
	for _, c := range []asm.Class{asm.GPR, asm.Vec, asm.Mask} {
		for n := range g.regs[c] {
			r := asm.Virtual(c, n)
			in := inst(asm.MOV, asm.R(r), asm.I(int64(n)))
			switch c {
			case asm.Vec:
				in = inst(asm.VPXORD, asm.R(r), asm.R(r), asm.R(r))
			case asm.Mask:
				in = inst(asm.KXORW, asm.R(r), asm.R(r), asm.R(r))
			}
			if n < g.consts[c] {
				if g.Intn(2) == 0 {
					in = inst([]asm.Op{1: asm.MOV, 2: asm.VMOVUPS, 3: asm.KMOVW}[c], asm.R(r), asm.M(asm.R15, int32(8*n)))
					g.f.Remat[r] = in
				}
			} else if !g.exposed(r) {
				continue
			} else if g.Intn(4) == 0 {
				in = inst(asm.UNDEF, asm.R(r))
			}
			head = append(head, in)
		}
	}
	g.f.Blocks[0].Insts = head
}

// exposed reports whether r may be read before it is written.
func (g *gen) exposed(r asm.Reg) bool {
	a := new(alloc)
	a.f, a.cfg = g.f, g.cfg
	a.number()
	if err := a.findBlocks(); err != nil {
		panic(err)
	}
	a.decode()
	a.liveness()
	v := a.virtual(r)
	return a.liveIn[v>>6]>>(v&63)&1 != 0
}

func TestRandomCode(t *testing.T) {
	n := seeds
	if testing.Short() {
		n = 400
	}
	var sum Stats
	for seed := range n {
		f, cfg := random(int64(seed))
		before := f.clone()
		res, err := RunChecked(f, cfg)
		if err != nil {
			t.Fatalf("seed %d: %v\nbefore:\n%safter:\n%s", seed, err, text(before), text(f))
		}
		if err := noVirtual(f); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text(f))
		}
		if err := encode(f); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s := res.Stats
		sum.Spills += s.Spills
		sum.Reloads += s.Reloads
		sum.Folded += s.Folded
		sum.Remats += s.Remats
		sum.Moves += s.Moves
		sum.Copies += s.Copies
		sum.Kept += s.Kept
	}
	t.Logf("%+v", sum)
	for _, n := range []int{sum.Spills, sum.Reloads, sum.Folded, sum.Remats, sum.Moves, sum.Copies, sum.Kept} {
		if n == 0 {
			t.Fatalf("the random code does not reach all of the allocator: %+v", sum)
		}
	}
}

// encode assembles the code: operands from the frame are where instructions take
// memory.
func encode(f *Func) error {
	var a asm.Assembler
	for i, b := range f.Blocks {
		a.Block(i)
		for k := range b.Insts {
			if b.Insts[k].Op == asm.BARRIER {
				continue
			}
			if err := a.Inst(&b.Insts[k]); err != nil {
				return err
			}
		}
	}
	_, _, err := a.Finish(nil)
	return err
}

// The same code gives the same result: it is cached by what it was made from.
func TestSameResult(t *testing.T) {
	for seed := range int64(100) {
		var texts [3]string
		for i := range texts {
			f, cfg := random(seed)
			if _, err := Run(f, cfg); err != nil {
				t.Fatal(err)
			}
			texts[i] = text(f)
		}
		if texts[0] != texts[1] || texts[0] != texts[2] {
			t.Fatalf("seed %d: the results differ", seed)
		}
	}
}

// noVirtual reports what must not be left over.
func noVirtual(f *Func) error {
	a := new(alloc)
	for i, b := range f.Blocks {
		for k := range b.Insts {
			in := &b.Insts[k]
			if in.Op == asm.UNDEF || in.Op == asm.COPY {
				return fmt.Errorf("block %d instruction %d: pseudo operation left", i, k)
			}
			for _, o := range a.appendOperands(nil, in) {
				if o.reg.IsVirtual() {
					return fmt.Errorf("block %d instruction %d: virtual register left", i, k)
				}
			}
		}
	}
	return nil
}

// seeds is how many random programs are checked.
const seeds = 4000
