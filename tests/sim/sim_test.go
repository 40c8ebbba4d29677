package sim_test

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/sim"
	"github.com/gokiln/kiln/tests/sim/hip"
)

func TestMain(m *testing.M) { sim.Main(m) }

// head is what every text begins with, as an emitter writes it.
const head = `
#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif
#ifndef __device__
#define __device__ __attribute__((device))
#endif
#pragma clang fp contract(off)
typedef unsigned int u32;
typedef unsigned long long u64;
#define TID __builtin_amdgcn_workitem_id_x()
#define BARRIER_OF(before, behind, scope) do { __builtin_amdgcn_fence(before, scope); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(behind, scope); } while (0)
#define BARRIER BARRIER_OF(__ATOMIC_RELEASE, __ATOMIC_ACQUIRE, "workgroup")
#define WAVE_BARRIER do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront"); __builtin_amdgcn_wave_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront"); } while (0)
#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
`

// bench is a device with what a test needs to run a kernel.
type bench struct {
	*testing.T
	dev  *runtime.Device
	wave int
}

// onBoth runs a test on a device of each width.
func onBoth(t *testing.T, test func(b *bench)) {
	for _, arch := range []string{"gfx942", "gfx1100"} {
		t.Run(arch, func(t *testing.T) {
			dev := sim.OpenROCm(t, arch)
			require.Equal(t, hip.Archs[arch], dev.WarpSize())
			require.Equal(t, arch, dev.Info().Arch)
			test(&bench{t, dev, dev.WarpSize()})
		})
	}
}

// source is a whole text: KERNEL(k) declares the kernel.
func source(text string) []byte {
	return []byte(head + strings.ReplaceAll(text, "KERNEL(k)", `extern "C" __global__ void __launch_bounds__(1024) k`))
}

// kernel compiles the kernel k of a text.
func (b *bench) kernel(text string) *runtime.Function {
	b.Helper()
	mod, err := b.dev.Load(runtime.Image{Format: "hip", Name: "k", Code: source(text)})
	if err != nil {
		b.Fatalf("%+v", err)
	}
	fn, err := mod.Function("k")
	require.NoError(b, err)
	return fn
}

// run launches k with the address of out, and n, and returns what is in out then.
func (b *bench) run(text string, g runtime.Grid, out []uint32) []uint32 {
	b.Helper()
	s, err := runtime.From(b.dev, out)
	require.NoError(b, err)
	args := binary.LittleEndian.AppendUint64(nil, s.Addr())
	args = binary.LittleEndian.AppendUint64(args, uint64(len(out)))
	require.NoError(b, b.dev.DefaultStream().Launch(b.kernel(text), g, 0, args))
	got, err := s.Host()
	require.NoError(b, err)
	return got
}

// fails is run for kernels that fail; it returns the error. The slice is as large as the pieces
// that memory comes in, 512 bytes.
func (b *bench) fails(text string, g runtime.Grid) error {
	b.Helper()
	s, err := runtime.From(b.dev, make([]uint32, 128))
	require.NoError(b, err)
	args := binary.LittleEndian.AppendUint64(nil, s.Addr())
	args = binary.LittleEndian.AppendUint64(args, 128)
	require.NoError(b, b.dev.DefaultStream().Launch(b.kernel(text), g, 0, args), "a launch does not wait")
	err = b.dev.Sync()
	require.ErrorIs(b, err, runtime.ErrLaunch)
	require.ErrorContains(b, err, "kernel k failed")
	return err
}

func TestIndices(t *testing.T) {
	onBoth(t, func(b *bench) {
		got := b.run(`KERNEL(k)(u32* out, u64 n) {
	const unsigned short* size = (const unsigned short*)__builtin_amdgcn_dispatch_ptr() + 2;
	const u32* grid = (const u32*)__builtin_amdgcn_dispatch_ptr() + 3;
	u32 x = __builtin_amdgcn_workgroup_id_x() * size[0] + __builtin_amdgcn_workitem_id_x();
	u32 y = __builtin_amdgcn_workgroup_id_y() * size[1] + __builtin_amdgcn_workitem_id_y();
	u32 z = __builtin_amdgcn_workgroup_id_z() * size[2] + __builtin_amdgcn_workitem_id_z();
	u32 i = x + grid[0] * (y + grid[1] * z);
	if (i < n) out[i] = i + 1000 * (grid[0] + grid[1] + grid[2]);
}`, runtime.Grid{Blocks: runtime.Dim3{X: 2, Y: 3, Z: 2}, Threads: runtime.Dim3{X: 4, Y: 3, Z: 5}}, make([]uint32, 8*9*10))
		for i, v := range got {
			require.Equal(b, uint32(i+1000*(8+9+10)), v)
		}
	})
}

// Threads of a block exchange values through shared memory, which holds 0xFF
// before anyone writes it, in each block.
func TestBarrierAndSharedMemory(t *testing.T) {
	onBoth(t, func(b *bench) {
		const n = 256
		got := b.run(`KERNEL(k)(u32* out, u64 n) {
	__shared__ u32 s[256];
	u32 poison = s[TID];
	BARRIER;
	for (u32 i = 0; i < 3; i++) {
		s[TID] = TID * 10 + i;
		BARRIER;
		u32 other = s[255 - TID];
		BARRIER;
		if (other != (255 - TID) * 10 + i) poison = 0;
	}
	out[__builtin_amdgcn_workgroup_id_x() * 256 + TID] = poison;
}`, runtime.Blocks(4, n), make([]uint32, 4*n))
		for i, v := range got {
			require.Equal(b, ^uint32(0), v, i)
		}
	})
}

func TestWaveOperations(t *testing.T) {
	onBoth(t, func(b *bench) {
		const n = 128
		got := b.run(fmt.Sprintf(`
static __device__ inline __attribute__((always_inline)) u32 lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
KERNEL(k)(u32* out, u64 n) {
	u64 odd = __builtin_amdgcn_ballot_w%d(TID & 1);
	u32 next = __builtin_amdgcn_ds_bpermute(4 * (lane() + 1), TID);
	u32 first = __builtin_amdgcn_readfirstlane(TID), third = __builtin_amdgcn_readlane(TID, 3);
	u32* o = out + 6 * TID;
	o[0] = lane(), o[1] = (u32)odd, o[2] = (u32)(odd >> 32), o[3] = next, o[4] = first, o[5] = third;
	u32 sum = TID;
	for (u32 step = %[1]d / 2; step; step /= 2) sum += __builtin_amdgcn_ds_bpermute(4 * (lane() ^ step), sum);
	WAVE_BARRIER;
	o[5] += 1000 * sum;
}`, b.wave), runtime.Blocks(1, n), make([]uint32, 6*n))
		for i := range n {
			first := i / b.wave * b.wave
			odd := uint64(0xAAAAAAAAAAAAAAAA)
			if b.wave == 32 {
				odd &= 0xFFFFFFFF
			}
			sum := b.wave*first + b.wave*(b.wave-1)/2
			require.Equal(b, []uint32{
				uint32(i % b.wave), uint32(odd), uint32(odd >> 32), uint32(first + (i+1)%b.wave), uint32(first), uint32(first + 3 + 1000*sum),
			}, got[6*i:6*i+6], "thread %d", i)
		}
	})
}

func TestAtomicsAndBits(t *testing.T) {
	onBoth(t, func(b *bench) {
		got := b.run(`KERNEL(k)(u32* out, u64 n) {
	__hip_atomic_fetch_add(out, TID, RELAXED);
	__hip_atomic_fetch_max((int*)out + 1, (int)TID - 5, RELAXED);
	__hip_atomic_fetch_add((float*)out + 2, 0.5f, RELAXED);
	u32 old = 0;
	while (!__hip_atomic_compare_exchange_strong(out + 3, &old, old + 2, __ATOMIC_RELAXED, RELAXED)) {}
	if (TID) return;
	out[4] = __builtin_bitreverse32(1), out[5] = __builtin_amdgcn_perm(0x44332211, 0x88776655, 0x0C070008);
	out[6] = __builtin_amdgcn_sdot4(0xFF02FF01, 0x03030303, 10, false), out[7] = __builtin_amdgcn_udot4(0xFF02FF01, 0x03030303, 10, false);
	out[8] = __builtin_bit_cast(unsigned short, (_Float16)1.5f), out[9] = __builtin_clz(1), out[10] = __builtin_popcountll(255);
}`, runtime.Blocks(2, 256), make([]uint32, 11))
		require.Equal(b, []uint32{2 * 255 * 128, 250, 0x43800000, 1024, 1 << 31, 0x004455FF, 13, 10 + 3*(255+2+255+1), 0x3E00, 31, 8}[:4], got[:4])
		require.Equal(b, bits.Reverse32(1), got[4])
		require.Equal(b, uint32(0x00445500), got[5])
		require.Equal(b, []uint32{13, 10 + 3*(255+2+255+1), 0x3E00, 31, 8}, got[6:])
	})
}

// Arguments lie in one block, each at its natural alignment.
func TestArgumentLayout(t *testing.T) {
	dev := sim.OpenROCm(t, "gfx942")
	b := &bench{t, dev, 64}
	fn := b.kernel(`KERNEL(k)(u32* out, bool a, unsigned short b, u32 c, char d, double e, char f) {
	out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = (u32)e, out[5] = f;
}`)
	s, err := runtime.From(dev, make([]uint32, 6))
	require.NoError(t, err)
	args := binary.LittleEndian.AppendUint64(nil, s.Addr())
	args = append(args, 1, 0xEE, 0x34, 0x12, 7, 0, 0, 0, 9, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE)
	args = binary.LittleEndian.AppendUint64(args, 0x4045000000000000) // 42.0
	args = append(args, 5)
	for _, padding := range []int{0, 7} {
		require.NoError(t, dev.DefaultStream().Launch(fn, runtime.Blocks(1, 1), 0, append(args, make([]byte, padding)...)))
		got, err := s.Host()
		require.NoError(t, err)
		require.Equal(t, []uint32{1, 0x1234, 7, 9, 42, 5}, got)
	}
	for _, wrong := range [][]byte{args[:len(args)-1], append(args, make([]byte, 8)...)} {
		err := dev.DefaultStream().Launch(fn, runtime.Blocks(1, 1), 0, wrong)
		require.ErrorContains(t, err, fmt.Sprintf("kernel k has 33 bytes of arguments and was given %d", len(wrong)))
	}
}

// What real hardware answers with nonsense, or not at all, is an error that says
// where.
func TestKernelsThatFail(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"barrier and return", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID < 7) BARRIER;\n}",
			"block (0,0,0): the threads of a block part ways: thread (0,0,0) waits at the barrier of line 20, thread (7,0,0) has returned"},
		{"ballot and return", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID < 7) out[0] = __builtin_amdgcn_ballot_w32(1);\n}",
			"the threads of a wave part ways: thread (0,0,0) waits at a ballot of line 20, thread (7,0,0) has returned"},
		{"two barriers", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID < 128) BARRIER;\n\telse BARRIER;\n}",
			"thread (0,0,0) waits at the barrier of line 20, thread (128,0,0) waits at the barrier of line 21"},
		{"wave operation of some lanes", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID != 9) out[0] = __builtin_amdgcn_readfirstlane(1);\n\telse BARRIER;\n}",
			"the threads of a wave part ways: thread (0,0,0) waits at readfirstlane of line 20, thread (9,0,0) waits at the barrier of line 21"},
		{"no release fence", "KERNEL(k)(u32* out, u64 n) {\n\tBARRIER_OF(__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE, \"workgroup\");\n}",
			"block (0,0,0), thread (0,0,0): the barrier of line 20 has no release fence before it"},
		{"no acquire fence", "KERNEL(k)(u32* out, u64 n) {\n\tBARRIER_OF(__ATOMIC_RELEASE, __ATOMIC_RELEASE, \"workgroup\");\n}",
			"block (0,0,0), thread (0,0,0): the barrier of line 20 has no acquire fence behind it"},
		{"fence of a wave", "KERNEL(k)(u32* out, u64 n) {\n\tBARRIER_OF(__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, \"wavefront\");\n}",
			"block (0,0,0), thread (0,0,0): the barrier of line 20 has no release fence before it"},
		{"null", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID == 3) *(volatile u32*)16 = 1;\n}", "block (0,0,0), thread (3,0,0): touches address 0x10"},
		{"far behind", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID == 3) out[128] = 1;\n}", "thread (3,0,0): touches address"},
		{"just before", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID == 3) out[-1] = 1;\n}", "kernel k: memory next to an allocation of 512 bytes was written"},
		{"division", "KERNEL(k)(u32* out, u64 n) {\n\tout[0] = 7 / (out[1] + TID);\n}", "thread (0,0,0): divides an integer by zero"},
		{"stack", "static u32 deep(u32 n) {\n\tvolatile u32 local[1 << 18];\n\tlocal[n] = n;\n\treturn local[n / 2];\n}\nKERNEL(k)(u32* out, u64 n) {\n\tout[0] = deep(TID);\n}",
			"thread (0,0,0): needs more than 1048576 bytes for its variables"},
		{"trap", "KERNEL(k)(u32* out, u64 n) {\n\tif (TID == 3) __builtin_trap();\n}", "thread (3,0,0): traps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{t, sim.OpenROCm(t, "gfx1100"), 32}
			lib := hip.Attach(t)
			lib.Set("strict", 1)
			defer lib.Set("strict", 0)
			require.ErrorContains(t, b.fails(c.text, runtime.Blocks(2, 256)), c.want)
		})
	}
}

// Threads that have returned do not hold up the others, as on the hardware.
func TestThreadsThatHaveReturned(t *testing.T) {
	onBoth(t, func(b *bench) {
		got := b.run(fmt.Sprintf(`KERNEL(k)(u32* out, u64 n) {
	__shared__ u32 s[128];
	s[TID] = 1;
	if (TID %% 3 == 0) return;
	BARRIER;
	out[TID] = s[TID - 1] + (u32)__builtin_amdgcn_readfirstlane(10 * TID) + (__builtin_amdgcn_ballot_w%d(true) & 15) * 10000;
}`, b.wave), runtime.Blocks(1, 128), make([]uint32, 128))
		for i, v := range got {
			want := uint32(0)
			if i%3 != 0 {
				first := i / b.wave * b.wave
				votes := uint32(0)
				for lane := range 4 {
					if (first+lane)%3 != 0 {
						votes |= 1 << lane
					}
				}
				if first%3 == 0 {
					first++
				}
				want = 1 + uint32(10*first) + votes*10000
			}
			require.Equal(b, want, v, i)
		}
	})
}

// A kernel cannot reach memory that was freed.
func TestUseAfterFree(t *testing.T) {
	b := &bench{t, sim.OpenROCm(t, "gfx942"), 64}
	_, err := b.dev.NewStream() // with one stream alone freed memory is kept for the next
	require.NoError(t, err)
	fn := b.kernel("KERNEL(k)(u32* out) { out[0] = 1; }")
	s, err := runtime.From(b.dev, make([]uint32, 64))
	require.NoError(t, err)
	args := binary.LittleEndian.AppendUint64(nil, s.Addr())
	require.NoError(t, s.Free())
	require.NoError(t, b.dev.DefaultStream().Launch(fn, runtime.Blocks(1, 1), 0, args))
	require.ErrorContains(t, b.dev.Sync(), "thread (0,0,0): touches address")
}

// A ballot has the width of the device's wave, and the compiler knows.
func TestBallotOfTheOtherWidth(t *testing.T) {
	onBoth(t, func(b *bench) {
		text := fmt.Sprintf("KERNEL(k)(u32* out) { out[0] = __builtin_amdgcn_ballot_w%d(TID); }", 96-b.wave)
		_, err := b.dev.Load(runtime.Image{Format: "hip", Name: "k", Code: source(text)})
		require.ErrorIs(b, err, runtime.ErrBadImage)
		require.ErrorContains(b, err, "__builtin_amdgcn_ballot_w")
	})
}

// Each architecture can be opened, at the same time as the others; a device that
// was lost is as new when it is opened again.
func TestAllArchitectures(t *testing.T) {
	for arch, wave := range hip.Archs {
		for range 2 {
			t.Run(arch, func(t *testing.T) {
				b := &bench{t, sim.OpenROCm(t, arch), wave}
				require.Equal(t, wave, b.dev.WarpSize())
				text := fmt.Sprintf("#ifdef __%s__\nKERNEL(k)(u32* out, u64 n) { out[0] = 1; }\n#endif", arch)
				require.Equal(t, []uint32{1}, b.run(text, runtime.Blocks(1, 1), []uint32{0}))
				b.fails("KERNEL(k)(u32* out, u64 n) { *(volatile u32*)16 = 1; }", runtime.Blocks(1, 1))
			})
		}
	}
}
