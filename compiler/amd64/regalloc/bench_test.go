package regalloc

import (
	"math/rand"
	"strconv"
	"testing"
	"time"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// sgemm is the shape of the inner kernel of a matrix product: rows by cols vectors
// are accumulated in a loop whose values are passed on by copies.
func sgemm(rows, cols int) *Func {
	f := &Func{Remat: map[asm.Reg]asm.Inst{}}
	r := asm.R
	var head, body, tail []asm.Inst
	a, b, n, k := f.New(asm.GPR), f.New(asm.GPR), f.New(asm.GPR), f.New(asm.GPR)
	for _, g := range []asm.Reg{a, b, n, k} {
		head = append(head, inst(asm.MOV, r(g), asm.I(1)))
	}
	acc := make([]asm.Reg, rows*cols)
	for i := range acc {
		zero := f.New(asm.Vec)
		acc[i] = f.New(asm.Vec)
		head = append(head, inst(asm.MOV, r(zero), asm.I(0)), inst(asm.COPY, r(acc[i]), r(zero)))
	}
	vecs := make([]asm.Reg, cols)
	for j := range vecs {
		vecs[j] = f.New(asm.Vec)
		body = append(body, inst(asm.VMOVUPS, r(vecs[j]), asm.MX(b, k, 4, int32(64*j))))
	}
	next := make([]asm.Reg, len(acc))
	for i := range rows {
		x := f.New(asm.Vec)
		body = append(body, inst(asm.VMOVUPS, r(x), asm.MX(a, k, 4, int32(i))))
		for j := range vecs {
			next[i*cols+j] = f.New(asm.Vec)
			body = append(body, inst(asm.COPY, r(next[i*cols+j]), r(acc[i*cols+j])),
				inst(asm.VFMADD231PS, r(next[i*cols+j]), r(x), r(vecs[j])))
		}
	}
	step := f.New(asm.GPR)
	body = append(body, inst(asm.COPY, r(step), r(k)), inst(asm.ADD, r(step), asm.I(1)), inst(asm.COPY, r(k), r(step)))
	for i := range acc {
		body = append(body, inst(asm.COPY, r(acc[i]), r(next[i])))
		tail = append(tail, inst(asm.VMOVUPS, asm.M(b, int32(64*i)), r(next[i])))
	}
	body = append(body, inst(asm.CMP, r(k), r(n)), inst(asm.JCC, asm.L(1)))
	f.Blocks = []*Block{{Insts: head}, {Insts: body, Depth: 1}, {Insts: append(tail, inst(asm.RET))}}
	return f
}

func TestMatrixProductIsSpillFree(t *testing.T) {
	tests := []struct {
		rows, cols int
		cfg        Config
	}{
		{12, 2, V4(0)}, {14, 2, V4(0)}, {8, 3, V4(0)}, {9, 3, V4(0)}, {6, 4, V4(0)}, {28, 1, V4(0)}, {30, 1, V4(0)},
		{6, 2, V3(0)}, {4, 3, V3(0)}, {12, 1, V3(0)},
	}
	for _, tt := range tests {
		f := sgemm(tt.rows, tt.cols)
		res, err := RunChecked(f, tt.cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := res.Stats
		if s.Spills+s.Reloads+s.Folded+s.Moves+s.Kept != 0 {
			t.Errorf("%d by %d: %+v\n%s", tt.rows, tt.cols, s, text(f))
		}
	}
}

// With too many accumulators each that finds no room costs a load and a store each
// time around and reads the vector that all use from the frame; the others none.
func TestMatrixProductThatDoesNotFit(t *testing.T) {
	for extra := range 4 {
		f := sgemm(31+extra, 1) // and a vector of each matrix
		if _, err := RunChecked(f, V4(0)); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, in := range f.Blocks[1].Insts {
			for _, arg := range in.Args {
				if arg.Kind == asm.MemArg && arg.Reg == asm.R14 {
					n++
				}
			}
		}
		if most := 3*(extra+1) + 1; n > most {
			t.Errorf("%d too many: %d accesses to the frame in the loop, want at most %d\n%s", extra+1, n, most, text(f))
		}
	}
}

// ordinary is code of so many instructions like that of kernels: most values are
// used soon, some much later, with loops.
func ordinary(n int) *Func {
	rnd := rand.New(rand.NewSource(1))
	f := &Func{Remat: map[asm.Reg]asm.Inst{}}
	r := asm.R
	var vecs, ints []asm.Reg
	recent := func(s []asm.Reg) asm.Reg {
		if rnd.Intn(12) == 0 {
			return s[rnd.Intn(len(s))]
		}
		return s[len(s)-1-rnd.Intn(min(8, len(s)))]
	}
	b := &Block{}
	for range 6 {
		vecs, ints = append(vecs, f.New(asm.Vec)), append(ints, f.New(asm.GPR))
		b.Insts = append(b.Insts, inst(asm.MOV, r(vecs[len(vecs)-1]), asm.I(1)), inst(asm.MOV, r(ints[len(ints)-1]), asm.I(1)))
	}
	f.Blocks = append(f.Blocks, b)
	depth := 0
	for k := 0; k < n; k++ {
		if k%25 == 24 {
			if depth > 0 && rnd.Intn(2) == 0 {
				b.Insts = append(b.Insts, inst(asm.JCC, asm.L(len(f.Blocks)-1-rnd.Intn(2))))
				depth--
			} else {
				depth++
			}
			b = &Block{Depth: min(depth, 3)}
			f.Blocks = append(f.Blocks, b)
		}
		switch rnd.Intn(4) {
		case 0:
			d := f.New(asm.GPR)
			b.Insts = append(b.Insts, inst(asm.COPY, r(d), r(recent(ints))), inst(asm.ADD, r(d), r(recent(ints))))
			ints = append(ints, d)
			k++
		case 1:
			d := f.New(asm.Vec)
			b.Insts = append(b.Insts, inst(asm.COPY, r(d), r(recent(vecs))), inst(asm.VFMADD231PS, r(d), r(recent(vecs)), r(recent(vecs))))
			vecs = append(vecs, d)
			k++
		case 2:
			d := f.New(asm.Vec)
			b.Insts = append(b.Insts, inst(asm.VADDPS, r(d), r(recent(vecs)), r(recent(vecs))))
			vecs = append(vecs, d)
		default:
			b.Insts = append(b.Insts, inst(asm.VMOVUPS, asm.MX(recent(ints), recent(ints), 4, 0), r(recent(vecs))))
		}
	}
	b.Insts = append(b.Insts, inst(asm.RET))
	return f
}

func TestOrdinaryCode(t *testing.T) {
	f := ordinary(2000)
	res, err := RunChecked(f, V4(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d registers: %+v", f.Virt, res)
}

// benchmark times the allocation alone: it works in place, on a copy.
func benchmark(b *testing.B, f *Func) {
	var spent time.Duration
	for b.Loop() {
		g := f.clone()
		start := time.Now()
		if _, err := Run(g, V4(0)); err != nil {
			b.Fatal(err)
		}
		spent += time.Since(start)
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/run")
}

// BenchmarkOrdinary has several lengths: time is about in proportion.
func BenchmarkOrdinary(b *testing.B) {
	for _, n := range []int{500, 2000, 8000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchmark(b, ordinary(n)) })
	}
}

func BenchmarkMatrixProduct(b *testing.B) { benchmark(b, sgemm(14, 2)) }
