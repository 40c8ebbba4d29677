package llvm

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/tests/irconf"
)

// What is different in warps of 64 threads. A block of 192 threads, the last warps
// with some votes of their own, puts everything into 64-bit words.
const (
	wideWarp  = 64
	wideBlock = 192
)

// wideProgram is a kernel that stores %r for each thread, computed by body from
// the thread's number %i and the input %x.
func wideProgram(name, body string, want func(i int, in []uint64) uint64) irconf.Case {
	c := irconf.Case{
		Name: "wide " + name, Grid: [3]int{1, 1, 1}, Block: [3]int{wideBlock, 1, 1},
		Types: []*ir.Type{ir.U64, ir.U64}, Args: []irconf.Arg{{Buf: 0}, {Buf: 1}}, Warp: true,
		Text: `module "wide"
kernel @k(%out: ptr<global,u64>, %n: i64, %in: ptr<global,u64>, %m: i64) args(out slice u64 "[]uint64", in slice u64 "[]uint64") {
b0:
  %i = thread 0 : i64
  %p = offset %in, %i : ptr<global,u64>
  %x = load %p : u64
` + body + `
  %q = offset %out, %i : ptr<global,u64>
  store %q, %r
  ret
}
`}
	in := make([]uint64, wideBlock)
	for i := range in {
		in[i] = uint64(i+1) * 0x9e3779b97f4a7c15
	}
	var inBytes, wantBytes []byte
	for i, x := range in {
		inBytes = binary.LittleEndian.AppendUint64(inBytes, x)
		wantBytes = binary.LittleEndian.AppendUint64(wantBytes, want(i, in))
	}
	c.Bufs = [][]byte{make([]byte, len(inBytes)), inBytes}
	c.Want = [][]byte{wantBytes, inBytes}
	c.Text = numbered(c.Text)
	return c
}

// numbered replaces names by numbers, as the text form of the IR wants them.
func numbered(text string) string {
	seen := map[string]string{}
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '%' {
			b.WriteByte(text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] >= '0' && text[end] <= '9') {
			end++
		}
		name := text[i:end]
		if seen[name] == "" {
			seen[name] = fmt.Sprintf("%%%d", len(seen))
		}
		b.WriteString(seen[name])
		i = end
	}
	return b.String()
}

// wideCases are programs with warp operations for warps of 64 threads.
func wideCases() []irconf.Case {
	vote := func(i int, in []uint64) (mask uint64) {
		for l := range wideWarp {
			mask |= in[i/wideWarp*wideWarp+l] >> 63 << l
		}
		return mask
	}
	const top = "  %c = const 63 : u64\n  %t = shr %x, %c : u64\n  %zero = const 0 : u64\n  %v = ne %t, %zero : bool\n"
	asWord := func(op string) string {
		return top + "  %b = " + op + " %v : bool\n  %one = const 1 : u64\n  %r = select %b, %one, %zero : u64"
	}
	out := []irconf.Case{
		wideProgram("lane and warp", "  %l = lane : i64\n  %w = warp : i64\n  %s = warpsize : i64\n  %a = mul %w, %s : i64\n  %b = mul %a, %s : i64\n  %d = add %b, %l : i64\n  %r = bitcast %d : u64",
			func(i int, _ []uint64) uint64 { return uint64(i/wideWarp*wideWarp*wideWarp + i%wideWarp) }),
		wideProgram("ballot", top+"  warpbarrier\n  %r = ballot %v : u64", vote),
		wideProgram("any", asWord("any"), func(i int, in []uint64) uint64 { return min(vote(i, in), 1) }),
		wideProgram("all", asWord("all"), func(i int, in []uint64) uint64 { return uint64(bits.OnesCount64(vote(i, in)) / wideWarp) }),
	}
	for op, source := range map[string]func(lane, n int) int{
		"shfl.idx": func(_, n int) int { return n & (wideWarp - 1) }, "shfl.up": func(lane, n int) int { return lane - n },
		"shfl.down": func(lane, n int) int { return lane + n }, "shfl.xor": func(lane, n int) int { return lane ^ n },
	} {
		for _, n := range []int{0, 1, 31, 32, 33, 63, 64, 65, -1} {
			for _, t := range []*ir.Type{ir.U64, ir.U16, ir.F64} {
				body := fmt.Sprintf("  %%k = const %[1]d : i64\n  %%y = %[2]s %%x : %[3]s\n  %%z = %[4]s %%y, %%k : %[3]s\n  %%r = %[2]s %%z : u64", n, as(t), t, op)
				if t == ir.U64 {
					body = fmt.Sprintf("  %%k = const %d : i64\n  %%r = %s %%x, %%k : u64", n, op)
				}
				out = append(out, wideProgram(fmt.Sprintf("%s %s %d", op, t, n), body, func(i int, in []uint64) uint64 {
					from := source(i%wideWarp, n)
					if from < 0 || from >= wideWarp {
						from = i % wideWarp
					}
					x := in[i/wideWarp*wideWarp+from]
					if t == ir.U16 {
						x &= 0xffff
					}
					return x
				}))
			}
		}
	}
	return out
}

// as is the operation that leads from a word to t and back.
func as(t *ir.Type) string {
	if t.IsInt() {
		return "convert"
	}
	return "bitcast"
}
