package ptx

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/tooltest"
)

// copied is how many elements the kernel of copyKernel copies: some are left of the last
// 16 bytes.
const copied = 19

// copyKernel copies elements from the source, from element from on, to shared memory,
// from element to on, in some order, and then writes them out.
func copyKernel(t *ir.Type, from, to int, order []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "module \"m\"\nshared 0 \"s\" [64]%s\n", t)
	fmt.Fprintf(&b, "kernel @k(%%0: ptr<global,%[1]s>, %%1: i64, %%2: ptr<global,%[1]s>, %%3: i64) args(out slice %[1]s \"[]T\", x slice %[1]s \"[]T\") {\n", t)
	fmt.Fprintf(&b, "b0:\n  %%4 = shared 0 : ptr<shared,[64]%s>\n", t)
	n := 5
	add := func(format string, args ...any) int {
		n++
		fmt.Fprintf(&b, "  %%%d = %s\n", n-1, fmt.Sprintf(format, args...))
		return n - 1
	}
	at := func(op string, base, i int, space string) int {
		return add("%s %%%d, %%%d : ptr<%s,%s>", op, base, add("const %d : i64", i), space, t)
	}
	for _, i := range order {
		src, dst := at("offset", 2, from+i, "global"), at("index", 4, to+i, "shared")
		fmt.Fprintf(&b, "  copy.async %%%d, %%%d\n", dst, src)
	}
	b.WriteString("  copy.wait\n")
	for i := range order {
		x := add("load %%%d : %s", at("index", 4, to+i, "shared"), t)
		fmt.Fprintf(&b, "  store %%%d, %%%d\n", at("offset", 0, i, "global"), x)
	}
	b.WriteString("  ret\n}\n")
	return b.String()
}

var copySize = regexp.MustCompile(`cp\.async\.\S+ \S+ \S+ (\d+);`)

// TestCopies runs copies of every type from and to all places within 16 bytes. What
// is read has been waited for: the simulator makes copies no sooner. Where places are
// alike no more copies are made than are needed. Types of a size differ by name only: one
// of them has all places, the others the first unless there is a sweep.
func TestCopies(t *testing.T) {
	tried := map[int]bool{}
	r := rand.New(rand.NewPCG(1, 2))
	var all strings.Builder
	for _, typ := range ir.Scalars {
		if typ == ir.Bool {
			continue
		}
		size := typ.Size()
		places := 16 / size
		if tried[size] && !tooltest.Sweeps() {
			places = 1
		}
		tried[size] = true
		for from := range places {
			for to := range places {
				for _, opt := range []Options{{}, {Aligned: true, Disjoint: true}, {Aligned: true, Scalar: true}} {
					m := parse(t, copyKernel(typ, from, to, r.Perm(copied)))
					text, err := opt.Emit(m, mustTarget(t, "sm_80"))
					require.NoError(t, err)
					runCopies(t, text, size, from)
					sizes := copySize.FindAllStringSubmatch(text, -1)
					switch {
					case opt.Aligned && !opt.Scalar:
						require.Len(t, sizes, wantCopies(size, from, to), "%s from %d to %d\n%s", typ, from, to, text)
					case size < minCopy:
						require.Empty(t, sizes)
					default:
						require.Len(t, sizes, copied)
					}
					if head, body, _ := strings.Cut(text, ".visible .entry k("); to == 0 {
						if all.Len() == 0 {
							all.WriteString(head)
						}
						fmt.Fprintf(&all, ".visible .entry k%d(%s", all.Len(), body)
					}
				}
			}
		}
	}
	assemble(t, "sm_80", all.String()) // at the end: without an assembler it skips
}

func runCopies(t *testing.T, text string, size, from int) {
	t.Helper()
	out, x := make([]byte, copied*size), make([]byte, (copied+from)*size)
	for i := range x {
		x[i] = byte(i + 1)
	}
	args := make([]byte, 0, 32)
	for i, b := range [][]byte{out, x} {
		args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
		args = binary.LittleEndian.AppendUint64(args, uint64(len(b)/size))
	}
	require.NoError(t, simulate(text, [3]int{1, 1, 1}, [3]int{1, 1, 1}, args, [][]byte{out, x}))
	require.Equal(t, x[from*size:], out, text)
}

// wantCopies counts the copies of 4, 8 and 16 bytes, largest first, that are aligned
// at both ends.
func wantCopies(size, from, to int) (n int) {
	src, dst, left := from*size, to*size, copied*size
	for left > 0 {
		step := size
		for b := maxVector; b > size && b >= minCopy; b /= 2 {
			if b <= left && src%b == 0 && dst%b == 0 {
				step = b
				break
			}
		}
		if step >= minCopy {
			n++
		}
		src, dst, left = src+step, dst+step, left-step
	}
	return n
}

// TestCopyOrder has stores on both sides of a copy of what they write, and over it: they
// stay where they are. Stores beside a copy from memory that the kernel does not change
// make one.
func TestCopyOrder(t *testing.T) {
	emit := func(stores string, opt Options) []string {
		text, err := opt.Emit(parse(t, `module "m"
shared 0 "s" [4]f32
kernel @k(%0: ptr<global,f32>, %1: i64, %2: ptr<global,f32>, %3: i64, %4: f32) args(out slice f32 "[]float32", x slice f32 "[]float32", y scalar f32 "float32") {
b0:
  %5 = shared 0 : ptr<shared,[4]f32>
  %6 = const 0 : i64
  %7 = const 1 : i64
  %8 = index %5, %6 : ptr<shared,f32>
  %9 = index %5, %7 : ptr<shared,f32>
  %10 = offset %0, %6 : ptr<global,f32>
  %11 = offset %0, %7 : ptr<global,f32>
  %12 = offset %2, %6 : ptr<global,f32>
`+stores+`
  copy.wait
  ret
}
`), mustTarget(t, "sm_80"))
		require.NoError(t, err)
		var ops []string
		for _, op := range Opcodes(text) {
			if strings.HasPrefix(op, "st.") || strings.HasPrefix(op, "cp.") {
				ops = append(ops, op)
			}
		}
		return ops
	}
	aligned, disjoint := Options{Aligned: true}, Options{Aligned: true, Disjoint: true}
	const copied, wait = "cp.async.ca.shared.global", "cp.async.wait_all"
	require.Equal(t, []string{"st.global.b32", copied, "st.global.b32", wait},
		emit("store %10, %4\ncopy.async %8, %10\nstore %11, %4", disjoint))
	require.Equal(t, []string{"st.global.b32", copied, "st.global.b32", wait},
		emit("store %10, %4\ncopy.async %8, %12\nstore %11, %4", aligned))
	require.Equal(t, []string{copied, "st.global.v2.b32", wait},
		emit("store %10, %4\ncopy.async %8, %12\nstore %11, %4", disjoint))
	require.Equal(t, []string{"st.shared.b32", copied, "st.shared.b32", wait},
		emit("store %8, %4\ncopy.async %8, %12\nstore %9, %4", disjoint))
}
