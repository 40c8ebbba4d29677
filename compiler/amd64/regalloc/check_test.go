package regalloc

import (
	"errors"
	"math/rand"
	"testing"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// TestCheckFindsMistakes breaks allocations that are right. Not every change is a
// mistake (two registers may hold one value, a value may not matter any more or be
// undefined on the path to its use), but nearly all are.
func TestCheckFindsMistakes(t *testing.T) {
	tests := []struct {
		name   string
		damage func(*rand.Rand, *Func, *Trace, Config) bool
		least  float64 // part of the changes that must be found
	}{
		{"another register is read", readAnother, 0.9},
		{"a move is missing", dropMove, 0.75},
		{"another slot is loaded", loadAnother, 0.8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			made, found := 0, 0
			for seed := range int64(300) {
				f, cfg := random(seed)
				before := f.clone()
				var trace Trace
				if _, err := new(alloc).run(f, cfg, &trace); err != nil {
					t.Fatal(err)
				}
				if !tt.damage(rand.New(rand.NewSource(seed)), f, &trace, cfg) {
					continue
				}
				made++
				if err := Check(before, f, cfg, &trace); errors.Is(err, ErrWrong) {
					found++
				}
			}
			t.Logf("%d of %d found", found, made)
			if made < 30 || float64(found) < tt.least*float64(made) {
				t.Errorf("%d of %d mistakes found, want at least %.0f %%", found, made, 100*tt.least)
			}
		})
	}
}

// Random code has jumps back with moves on their edges: the moves are behind the jump,
// which is turned around, or in a block at the end.
func TestMovesOfJumps(t *testing.T) {
	turned, atEnd := 0, 0
	for seed := range int64(300) {
		f, cfg := random(seed)
		before := f.clone()
		var trace Trace
		if _, err := new(alloc).run(f, cfg, &trace); err != nil {
			t.Fatal(err)
		}
		for i, steps := range trace.blocks {
			for _, s := range steps {
				if s.orig >= 0 && s.out >= 0 && f.Blocks[i].Insts[s.out].Cond != before.Blocks[i].Insts[s.orig].Cond {
					turned++
				}
			}
		}
		atEnd += len(f.Blocks) - len(before.Blocks)
	}
	if turned < 20 || atEnd < 20 {
		t.Errorf("%d jumps turned around, %d blocks at the end", turned, atEnd)
	}
}

// pick returns an instruction that fits, of those that the code can come to.
func pick(r *rand.Rand, f *Func, t *Trace, fits func(s step, in *asm.Inst) bool) *asm.Inst {
	var all []*asm.Inst
	for i, steps := range t.blocks {
		if !reached(f)[i] {
			continue
		}
		for _, s := range steps {
			if s.out >= 0 && fits(s, &f.Blocks[i].Insts[s.out]) {
				all = append(all, &f.Blocks[i].Insts[s.out])
			}
			if s.out >= 0 && isJump(f.Blocks[i].Insts[s.out].Op) && f.Blocks[i].Insts[s.out].Op != asm.JCC {
				break
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[r.Intn(len(all))]
}

func reached(f *Func) map[int]bool {
	seen := map[int]bool{}
	for work := []int{0}; len(work) > 0; {
		i := work[0]
		work = work[1:]
		if seen[i] {
			continue
		}
		seen[i] = true
		falls := true
		for _, in := range f.Blocks[i].Insts {
			if isJump(in.Op) && falls {
				if in.Args[0].Kind == asm.LabelArg {
					work = append(work, int(in.Args[0].Imm))
				}
				falls = in.Op == asm.JCC
			}
		}
		if falls {
			work = append(work, i+1)
		}
	}
	return seen
}

func readAnother(r *rand.Rand, f *Func, t *Trace, cfg Config) bool {
	in := pick(r, f, t, func(s step, in *asm.Inst) bool { return s.orig >= 0 && in.Op == asm.VADDPS })
	if in == nil {
		return false
	}
	n := in.Args[1].Reg.Num()
	in.Args[1].Reg = asm.Phys(asm.Vec, (n+1)%len(cfg.Regs[asm.Vec]))
	return true
}

func dropMove(r *rand.Rand, f *Func, t *Trace, cfg Config) bool {
	in := pick(r, f, t, func(s step, in *asm.Inst) bool { return s.orig < 0 && s.remat < 0 && in.Op == asm.VMOVUPS })
	if in == nil {
		return false
	}
	for k, a := range in.Args[:2] {
		if a.Kind == asm.RegArg {
			in.Op, in.Args[1-k] = asm.VMOVAPS, a
		}
	}
	return true
}

func loadAnother(r *rand.Rand, f *Func, t *Trace, cfg Config) bool {
	in := pick(r, f, t, func(s step, in *asm.Inst) bool {
		return s.orig < 0 && s.remat < 0 && in.Op == asm.VMOVUPS && in.Args[1].Kind == asm.MemArg
	})
	if in == nil {
		return false
	}
	in.Args[1].Disp += int32(cfg.VecBytes)
	return true
}
