package regalloc

import (
	"errors"
	"strings"
	"testing"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// small is a machine with so many registers of each class.
func small(gpr, vec, mask int) Config {
	c := V4(0)
	for class, n := range map[asm.Class]int{asm.GPR: gpr, asm.Vec: vec, asm.Mask: mask} {
		c.Regs[class] = c.Regs[class][:n]
	}
	return c
}

func TestCode(t *testing.T) {
	tests := []struct {
		name, in, want string
		cfg            Config
	}{
		{
			name: "the accumulator of a loop is not moved",
			cfg:  small(4, 6, 2),
			in: `
			b0: depth 0
				MOV g0, 1
				MOV v0, 0
				COPY v1, v0
				COPY g1, g0
			b1: depth 1
				VMOVUPS v2, [g0+g1*4+0]
				COPY v3, v1
				VFMADD231PS v3, v2, v2
				COPY g2, g1
				ADD g2, 1
				CMP g2, g0
				COPY v1, v3
				COPY g1, g2
				JCC b1
			b2: depth 0
				VMOVUPS [g0+0], v3
				RET`,
			want: `
			b0: depth 0
				MOV RBX, 1
				MOV Z0, 0
				MOV RSI, RBX
			b1: depth 1
				VMOVUPS Z1, [RBX+RSI*4+0]
				VFMADD231PS Z0, Z1, Z1
				ADD RSI, 1
				CMP RSI, RBX
				JCC b1
			b2: depth 0
				VMOVUPS [RBX+0], Z0
				RET`,
		},
		{
			name: "a value that a loop does not use is stored and loaded outside of it",
			cfg:  small(4, 3, 2),
			in: `
			b0: depth 0
				MOV g0, [R15+0]
				VMOVUPS v0, [R15+64]
				VMOVUPS v1, [R15+128]
			b1: depth 1
				VADDPS v2, v1, v1
				VADDPS v3, v2, v1
				VADDPS v4, v2, v3
				VMOVUPS [g0+0], v4
				VMOVUPS [g0+0], v3
				JCC b1
			b2: depth 0
				VMOVUPS [g0+0], v1
				VMOVUPS [g0+0], v0
				RET`,
			want: `
			b0: depth 0
				MOV RBX, [R15+0]
				VMOVUPS Z0, [R15+64]
				VMOVUPS [R14+0], Z0
				VMOVUPS Z1, [R15+128]
			b1: depth 1
				VADDPS Z2, Z1, Z1
				VADDPS Z0, Z2, Z1
				VADDPS Z2, Z2, Z0
				VMOVUPS [RBX+0], Z2
				VMOVUPS [RBX+0], Z0
				JCC b1
			b2: depth 0
				VMOVUPS [RBX+0], Z1
				VMOVUPS Z0, [R14+0]
				VMOVUPS [RBX+0], Z0
				RET`,
		},
		{
			name: "what Func.Remat makes again is not stored",
			cfg:  small(4, 3, 2),
			in: `
			b0: depth 0
				remat VMOVUPS v0, [R15+64]
				MOV g0, 1
				VMOVUPS v0, [R15+64]
				MOV v1, 1
				VMOVUPS [g0+0], v0
			b1: depth 1
				VADDPS v2, v1, v1
				VADDPS v3, v2, v1
				VADDPS v4, v2, v3
				VMOVUPS [g0+0], v4
				VMOVUPS [g0+0], v3
				JCC b1
			b2: depth 0
				VMOVUPS [g0+0], v1
				VMOVUPS [g0+0], v0
				RET`,
			want: `
			b0: depth 0
				MOV RBX, 1
				VMOVUPS Z0, [R15+64]
				MOV Z1, 1
				VMOVUPS [RBX+0], Z0
			b1: depth 1
				VADDPS Z2, Z1, Z1
				VADDPS Z0, Z2, Z1
				VADDPS Z2, Z2, Z0
				VMOVUPS [RBX+0], Z2
				VMOVUPS [RBX+0], Z0
				JCC b1
			b2: depth 0
				VMOVUPS [RBX+0], Z1
				VMOVUPS Z0, [R15+64]
				VMOVUPS [RBX+0], Z0
				RET`,
		},
		{
			name: "a constant is made where it is used",
			cfg:  small(4, 3, 2),
			in: `
			b0: depth 0
				MOV g0, [R15+0]
				VPXORD v0, v0, v0
				VMOVUPS v1, [R15+64]
			b1: depth 1
				VADDPS v2, v1, v1
				VADDPS v3, v2, v1
				VADDPS v4, v2, v3
				VMOVUPS [g0+0], v4
				VMOVUPS [g0+0], v3
				JCC b1
			b2: depth 0
				VMOVUPS [g0+0], v1
				VMOVUPS [g0+0], v0
				RET`,
			want: `
			b0: depth 0
				MOV RBX, [R15+0]
				VMOVUPS Z1, [R15+64]
			b1: depth 1
				VADDPS Z2, Z1, Z1
				VADDPS Z0, Z2, Z1
				VADDPS Z2, Z2, Z0
				VMOVUPS [RBX+0], Z2
				VMOVUPS [RBX+0], Z0
				JCC b1
			b2: depth 0
				VMOVUPS [RBX+0], Z1
				VPXORD Z0, Z0, Z0
				VMOVUPS [RBX+0], Z0
				RET`,
		},
		{
			name: "an operand is read from the frame",
			cfg:  small(4, 3, 2),
			in: `
			b0: depth 0
				MOV g0, [R15+0]
				VMOVUPS v0, [R15+64]
				VMOVUPS v1, [R15+128]
			b1: depth 1
				VADDPS v2, v1, v0
				VADDPS v3, v2, v1
				VADDPS v4, v3, v2
				VMOVUPS [g0+0], v2
				VMOVUPS [g0+0], v3
				VMOVUPS [g0+0], v4
				JCC b1
			b2: depth 0
				RET`,
			want: `
			b0: depth 0
				MOV RBX, [R15+0]
				VMOVUPS Z0, [R15+64]
				VMOVUPS [R14+0], Z0
				VMOVUPS Z1, [R15+128]
				VMOVUPS [R14+64], Z1
			b1: depth 1
				VMOVUPS Z1, [R14+64]
				VADDPS Z2, Z1, [R14+0]
				VADDPS Z0, Z2, Z1
				VADDPS Z1, Z0, Z2
				VMOVUPS [RBX+0], Z2
				VMOVUPS [RBX+0], Z0
				VMOVUPS [RBX+0], Z1
				JCC b1
			b2: depth 0
				RET`,
		},
		{
			name: "a call keeps no register",
			cfg:  small(4, 3, 2),
			in: `
			b0: depth 0
				MOV g0, [R15+0]
				MOV g1, 7
				BARRIER
				CALL b1
				ADD g0, g1
				MOV [R15+8], g0
				RET
			b1: depth 0
				RET`,
			want: `
			b0: depth 0
				MOV RBX, [R15+0]
				MOV [R14+0], RBX
				BARRIER
				CALL b1
				MOV RBX, [R14+0]
				MOV RSI, 7
				ADD RBX, RSI
				MOV [R15+8], RBX
				RET
			b1: depth 0
				RET`,
		},
		{
			name: "what is written again before the frame is read is stored once",
			cfg:  small(4, 4, 2),
			in: `
			b0: depth 0
				MOV g0, [R15+0]
				COPY g2, g0
				ADD g2, 1
				ADD g2, g0
			b1: depth 1
				ADD [R15+16], g2
				BARRIER
				ADD [R15+24], g2
				JCC b1
			b2: depth 0
				RET`,
			want: `
			b0: depth 0
				MOV RBX, [R15+0]
				MOV RSI, RBX
				ADD RSI, 1
				ADD RSI, RBX
				MOV [R14+0], RSI
			b1: depth 1
				ADD [R15+16], RSI
				BARRIER
				MOV RSI, [R14+0]
				ADD [R15+24], RSI
				JCC b1
			b2: depth 0
				RET`,
		},
		{
			name: "between barriers a value is in a register",
			cfg:  small(4, 6, 2),
			in: `
			b0: depth 0
				MOV g0, [R15+0]
				MOV v0, 0
			b1: depth 1
				BARRIER
			b2: depth 2
				VMOVUPS v1, [g0+0]
				VFMADD231PS v0, v1, v1
				JCC b2
			b3: depth 1
				BARRIER
				JCC b1
			b4: depth 0
				VMOVUPS [g0+0], v0
				RET`,
			want: `
			b0: depth 0
				MOV RBX, [R15+0]
				MOV [R14+64], RBX
				MOV Z0, 0
				VMOVUPS [R14+0], Z0
			b1: depth 1
				BARRIER
				MOV RBX, [R14+64]
				VMOVUPS Z0, [R14+0]
			b2: depth 2
				VMOVUPS Z1, [RBX+0]
				VFMADD231PS Z0, Z1, Z1
				JCC b2
			b3: depth 1
				VMOVUPS [R14+0], Z0
				BARRIER
				JCC b1
			b4: depth 0
				MOV RBX, [R14+64]
				VMOVUPS Z0, [R14+0]
				VMOVUPS [RBX+0], Z0
				RET`,
		},
		{
			name: "registers that change places",
			cfg:  small(4, 6, 2),
			in: `
			b0: depth 0
				MOV g0, 1
				MOV g1, 2
			b1: depth 1
				ADD g0, g1
				COPY g2, g0
				COPY g0, g1
				COPY g1, g2
				JCC b1
			b2: depth 0
				CMP g0, g1
				RET`,
			want: `
			b0: depth 0
				MOV RBX, 1
				MOV RSI, 2
			b1: depth 1
				ADD RBX, RSI
				MOV RDI, RBX
				MOV RBX, RSI
				MOV RSI, RDI
				JCC b1
			b2: depth 0
				CMP RBX, RSI
				RET`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := parse(t, tt.in)
			_, err := RunChecked(f, tt.cfg)
			if err != nil {
				t.Fatal(err, text(f))
			}
			if got, want := text(f), text(parse(t, tt.want)); got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, in string
		want     error
		cfg      Config
	}{
		{"read before written", "b0: depth 0\n ADD g0, g1\n RET", ErrUndefined, V4(0)},
		{"runs past its end", "b0: depth 0\n MOV g0, 1", ErrShape, V4(0)},
		{"jumps out of the code", "b0: depth 0\n MOV g0, 1\n JMP b7", ErrShape, V4(0)},
		{"too many operands", "b0: depth 0\n MOV v0, 1\n MOV v1, 1\n MOV v2, 1\nb1: depth 0\n VFMADD231PS v0, v1, v2\n CMP v0, v1\n JCC b1\nb2: depth 0\n RET", ErrPressure, small(3, 1, 1)},
		{"machine register across blocks", "b0: depth 0\n MOV RBX, 1\nb1: depth 0\n ADD RBX, 1\n RET", ErrShape, V4(0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Run(parse(t, tt.in), tt.cfg)
			if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "regalloc: ") {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}
