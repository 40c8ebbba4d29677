package regalloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

func TestTwist(t *testing.T) {
	const head = `
		b0: depth 0
			VMOVUPS v0, [R15+0]
			VMOVUPS v1, [R15+64]
			VMOVUPS v2, [R15+128]
			MOV g0, [R15+8]
			MOV g1, [R15+16]
		`
	tests := []struct {
		name, in, want string
	}{
		{"the addend goes on", "COPY v3, v2\nVFMADD231PS v3, v0, v1\nVMOVUPS [R15+0], v3\nVMOVUPS [R15+0], v2\nVMOVUPS [R15+0], v1", "VFMADD213PS Z0, Z1, Z2"},
		{"all but a factor go on", "COPY v3, v2\nVFMADD231PS v3, v0, v1\nVMOVUPS [R15+0], v3\nVMOVUPS [R15+0], v2\nVMOVUPS [R15+0], v0", "VFMADD213PS Z1, Z0, Z2"},
		{"a square", "COPY v3, v2\nVFMADD231PS v3, v0, v0\nVMOVUPS [R15+0], v3\nVMOVUPS [R15+0], v2", "VFMADD213PS Z0, Z0, Z1"},
		{"a factor in memory", "COPY v3, v2\nVFMADD231PS v3, v0, [R15+64]\nVMOVUPS [R15+0], v3\nVMOVUPS [R15+0], v2", "VFMADD132PS Z0, Z1, [R15+64]"},
		{"the addend ends", "COPY v3, v2\nVFMADD231PS v3, v0, v1\nVMOVUPS [R15+0], v3", "VFMADD231PS Z2, Z0, Z1"},
		{"all go on", "COPY v3, v2\nVFMADD231PS v3, v0, v1\nVMOVUPS [R15+0], v3\nVMOVUPS [R15+0], v2\nVMOVUPS [R15+0], v0\nVMOVUPS [R15+0], v1", "VFMADD231PS Z3, Z0, Z1"},
		{"a sum", "COPY g2, g0\nADD g2, g1\nMOV [R15+0], g2\nMOV [R15+0], g0", "ADD RSI, RBX"},
		{"a difference", "COPY g2, g0\nSUB g2, g1\nMOV [R15+0], g2\nMOV [R15+0], g0", "SUB RDI, RSI"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := parse(t, head+tt.in+"\nRET")
			if _, err := RunChecked(f, V4(0)); err != nil {
				t.Fatal(err)
			}
			if got := text(f); !strings.Contains(got, tt.want+"\n") {
				t.Errorf("want %s in\n%s", tt.want, got)
			}
		})
	}
}

// A value passed around a loop replaces the factor that it was.
func TestTwistOfLoopValue(t *testing.T) {
	f := parse(t, `
		b0: depth 0
			VMOVUPS v0, [R15+0]
			VMOVUPS v1, [R15+64]
			VMOVUPS v2, [R15+128]
			COPY v5, v1
		b1: depth 1
			VADDPS v3, v0, v2
			COPY v4, v2
			VFMADD231PS v4, v3, v5
			COPY v5, v4
			JCC b1
		b2: depth 0
			VMOVUPS [R15+0], v5
			RET`)
	res, err := RunChecked(f, V4(0))
	if err != nil {
		t.Fatal(err)
	}
	if res.Stats.Kept+res.Stats.Moves > 0 {
		t.Errorf("%+v\n%s", res.Stats, text(f))
	}
}

// eval executes a multiply-add on names: its result as a sum.
func eval(in *asm.Inst, regs map[asm.Reg]string) string {
	x := func(i int) string { return regs[in.Args[i].Reg] }
	name := in.Op.String()
	var f []string
	var add string
	switch {
	case strings.Contains(name, "132"):
		f, add = []string{x(0), x(2)}, x(1)
	case strings.Contains(name, "213"):
		f, add = []string{x(1), x(0)}, x(2)
	default:
		f, add = []string{x(1), x(2)}, x(0)
	}
	slices.Sort(f)
	kind, _, _ := strings.Cut(name[2:], "2")
	kind, _, _ = strings.Cut(kind, "1")
	return fmt.Sprintf("%s%s(%s*%s, %s)", kind, name[len(name)-2:], f[0], f[1], add)
}

// All orders of a multiply-add compute the same.
func TestTwistKeepsMeaning(t *testing.T) {
	a, b, c, d := asm.Virtual(asm.Vec, 0), asm.Virtual(asm.Vec, 1), asm.Virtual(asm.Vec, 2), asm.Virtual(asm.Vec, 3)
	for op := asm.VFMADD231PS; op <= asm.VFMADD231SD; op++ {
		for first := 1; first <= 2; first++ {
			in := inst(op, asm.R(d), asm.R(a), asm.R(b))
			want := eval(&in, map[asm.Reg]string{a: "a", b: "b", d: "c"})
			cp := inst(asm.COPY, asm.R(d), asm.R(c))
			code := []asm.Inst{cp, in}
			f := &Func{Virt: [4]int{asm.Vec: 4}, Blocks: []*Block{{Insts: code}}}
			al := new(alloc)
			al.f, al.live = f, []uint64{1<<2 | 1<<(2-first)} // the addend and the other factor go on
			al.number()
			al.decodeForTest(t)
			al.twist(&al.blocks[0], 1)
			got := eval(&code[1], map[asm.Reg]string{a: "a", b: "b", c: "c", d: map[asm.Reg]string{a: "a", b: "b", c: "c"}[code[0].Args[1].Reg]})
			if got != want || code[0].Args[1].Reg == c {
				t.Errorf("%v with argument %d first: %s, want %s", op, first, got, want)
			}
		}
	}
}

func (a *alloc) decodeForTest(t *testing.T) {
	a.f.Blocks = append(a.f.Blocks, &Block{Insts: []asm.Inst{inst(asm.RET)}})
	if err := a.findBlocks(); err != nil {
		t.Fatal(err)
	}
	a.decode()
}
