package cpu

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/runtime/internal/cpu/native"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

func TestEngineOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name    string
		arch    string
		warp    int
		formats string
	}{
		{"avx512", native.ArchAVX512, 16, "x86 kir"},
		{"avx2", native.ArchAVX2, 8, "x86 kir"},
		{"interp16", "warp16", 16, "kir"},
		{"interp", "", 32, "kir"},
	} {
		t.Setenv("KILN_CPU", c.name)
		dev, err := New().Open(0)
		if lack := native.Has(c.arch); err != nil && strings.HasPrefix(c.name, "avx") {
			require.ErrorContains(t, err, "open cpu: KILN_CPU="+c.name+": "+c.name+" code for the CPU: "+lack.Error())
			require.ErrorIs(t, err, driver.ErrNoDevice)
			continue
		}
		require.NoError(t, err)
		info := dev.Info()
		require.Equal(t, c.warp, info.WarpSize)
		require.Equal(t, c.formats, strings.Join(info.Formats, " "))
		if c.arch != "" {
			require.Equal(t, c.arch, info.Arch)
		}
		require.NoError(t, dev.Close())
		require.Equal(t, info.Driver, New().Probe().Driver)
	}
	t.Setenv("KILN_CPU", "sse")
	_, err := New().Open(0)
	require.ErrorContains(t, err, `KILN_CPU=sse: unknown engine "sse" for the CPU: want one of avx512, avx2, interp`)
	require.ErrorContains(t, New().Probe().Err, "KILN_CPU=sse")
	require.Empty(t, New().Probe().Devices)
	dev, err := New().Open(-3) // a name of its own does not care
	require.NoError(t, err)
	require.Equal(t, "cpu:interp", dev.Info().Name)
	require.NoError(t, dev.Close())
	_, err = New().Open(-1 - len(engines))
	require.ErrorIs(t, err, driver.ErrNoDevice)
}

// A device for records is what its processor would be, on every machine. It loads code for that,
// runs nothing, and refuses to be asked for results.
func TestDevicesForRecords(t *testing.T) {
	for name, want := range map[string]struct {
		arch string
		warp int
	}{"avx512-record": {native.ArchAVX512, 16}, "avx2-record": {native.ArchAVX2, 8}, "amx-record": {native.ArchAVX512, 16}} {
		b := New()
		ordinal, err := b.Ordinal(name)
		require.NoError(t, err)
		dev, err := b.Open(ordinal)
		require.NoError(t, err)
		info := dev.Info()
		require.Equal(t, "cpu:"+name, info.Name)
		require.Equal(t, want.arch, info.Arch)
		require.Equal(t, want.warp, info.WarpSize)
		require.Equal(t, want.warp, info.ThreadsPerUnit, "it chooses as the processor does")
		require.Contains(t, info.Driver, "not run")
		require.Equal(t, name == "amx-record", info.PackedMMA)

		img := image.Image{Kernel: "K", ISA: want.arch, Warp: want.warp, General: image.None, Code: []byte{0x0f, 0x0b}} // ud2, which would end the process
		code, err := img.Encode()
		require.NoError(t, err)
		mod, err := dev.Load(driver.Image{Format: formatNative, Name: "K", Code: code})
		require.NoError(t, err)
		fn, err := mod.Function("K")
		require.NoError(t, err)
		s := dev.Default()
		require.NoError(t, s.Launch(fn, &driver.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}}))
		require.NoError(t, dev.Sync())
		mem, err := s.Alloc(8)
		require.NoError(t, err)
		require.NoError(t, s.Upload(mem, make([]byte, 8)))
		err = s.Download(make([]byte, 8), mem)
		require.ErrorIs(t, err, driver.ErrInvalid)
		require.ErrorContains(t, err, "runs no kernels")

		img.ISA, img.Warp = native.ArchAVX2, 8
		if want.warp == 8 {
			img.ISA, img.Warp = native.ArchAVX512, 16
		}
		code, err = img.Encode()
		require.NoError(t, err)
		_, err = dev.Load(driver.Image{Format: formatNative, Name: "K", Code: code})
		require.ErrorContains(t, err, fmt.Sprintf("the code is for warps of %d threads, the device has %d", img.Warp, want.warp))
		require.NoError(t, mod.Close())
		require.NoError(t, dev.Close())
	}
}

// count is native code that adds one to the number that its argument points to.
var count = []byte{
	0x48, 0x8b, 0x37, // mov rsi, [rdi]
	0x4c, 0x8b, 0x06, // mov r8, [rsi]
	0xf0, 0x49, 0xff, 0x00, // lock inc qword ptr [r8]
	0xc3, // ret
}

// fail reports that check 1 failed for index 9 of 5.
var fail = []byte{
	0x48, 0xc7, 0x47, 0x78, 1, 0, 0, 0, // mov qword ptr [rdi+120], 1
	0x48, 0xc7, 0x87, 0x88, 0, 0, 0, 9, 0, 0, 0, // mov qword ptr [rdi+136], 9
	0x48, 0xc7, 0x87, 0x90, 0, 0, 0, 5, 0, 0, 0, // mov qword ptr [rdi+144], 5
	0xc3,
}

func openAVX2(t *testing.T) *device {
	t.Setenv("KILN_CPU", "avx2")
	if err := native.Has(native.ArchAVX2); err != nil {
		t.Skip(err)
	}
	dev, err := New().Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev.(*device)
}

func loadNative(t *testing.T, dev driver.Device, img image.Image) (driver.Module, driver.Function) {
	t.Helper()
	img.Kernel, img.ISA, img.Warp, img.General = "K", native.ArchAVX2, 8, image.None
	code, err := img.Encode()
	require.NoError(t, err)
	mod, err := dev.Load(driver.Image{Format: "x86", Name: "K", Code: code, Place: func(pos int) (string, int, int) { return "k.go", pos, 1 }})
	require.NoError(t, err)
	fn, err := mod.Function("K")
	require.NoError(t, err)
	return mod, fn
}

func TestNativeKernels(t *testing.T) {
	dev := openAVX2(t)
	mod, fn := loadNative(t, dev, image.Image{Args: 8, Shared: 640, Local: 16, FrameSize: 64, Code: count})
	require.Equal(t, driver.FunctionInfo{Name: "K", MaxThreads: maxThreads, Shared: 640, Local: 16}, fn.Info())
	s := dev.Default()
	a, err := s.Alloc(8)
	require.NoError(t, err)
	require.NoError(t, s.Upload(a, make([]byte, 8)))
	l := &driver.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{8, 1, 1}, Args: binary.LittleEndian.AppendUint64(nil, uint64(a))}
	const launches = 1000
	for range launches {
		require.NoError(t, s.Launch(fn, l))
	}
	got := make([]byte, 8)
	require.NoError(t, s.Download(got, a))
	require.EqualValues(t, launches, binary.LittleEndian.Uint64(got))
	if !raceEnabled {
		require.Less(t, testing.AllocsPerRun(100, func() { _ = s.Launch(fn, l) }), 0.1)
	}

	require.NoError(t, s.Sync())
	require.NoError(t, mod.Close())
	require.NoError(t, s.Launch(fn, l))
	require.ErrorContains(t, s.Sync(), "unloaded")
	require.NoError(t, dev.Trim())
}

func TestNativeFaults(t *testing.T) {
	dev := openAVX2(t)
	_, fn := loadNative(t, dev, image.Image{Code: fail, Sites: []image.Site{{Pos: 3}}})
	for range 3 {
		require.NoError(t, dev.Default().Launch(fn, &driver.Launch{Grid: [3]int{1}, Block: [3]int{1}}))
		err := dev.Sync()
		require.ErrorIs(t, err, driver.ErrLaunch)
		require.EqualError(t, err, "cpu: kernel K failed: k.go:3: kernel K: block (0,0,0), thread (0,0,0): index out of range [9] with length 5")
	}
}

func TestNativeRefusals(t *testing.T) {
	dev := openAVX2(t)
	_, err := dev.Load(driver.Image{Format: "x86", Name: "K", Code: []byte("MZ")})
	require.ErrorIs(t, err, driver.ErrBadImage)
	require.ErrorContains(t, err, "load kernel K: this is not native code made by kiln")
	code, err := (&image.Image{Kernel: "K", ISA: native.ArchAVX512, Warp: 16, General: image.None, Code: count}).Encode()
	require.NoError(t, err)
	_, err = dev.Load(driver.Image{Format: "x86", Name: "K", Code: code})
	require.ErrorIs(t, err, driver.ErrBadImage)
	interp, err := New().Open(-3)
	require.NoError(t, err)
	_, err = interp.Load(driver.Image{Format: "x86", Name: "K", Code: code})
	require.EqualError(t, err, "cpu:interp: load kernel K: the device loads code of format kir, not x86")
	require.NoError(t, interp.Close())
	_, err = dev.Load(driver.Image{Format: "kir", Name: "Scale", Code: []byte(scale)})
	require.NoError(t, err, "what native code cannot do")
}

// A kernel that was short is run by the launch; one that was not is handed over, as
// is one behind others.
func TestShortKernelsRunAtOnce(t *testing.T) {
	var ran int
	hold := make(chan struct{})
	dev, fn := openFake(t, func(args []byte) error {
		if len(args) > 0 {
			<-hold
		}
		ran++
		return nil
	})
	s := dev.Default()
	f := fn.(*function)
	f.estimate = known(time.Microsecond)
	require.NoError(t, s.Launch(fn, &driver.Launch{}))
	require.Equal(t, 1, ran, "it is done already")
	require.True(t, dev.queue.idle())

	f.estimate = known(time.Second)
	require.NoError(t, s.Launch(fn, &driver.Launch{Args: []byte{1}}))
	f.estimate = known(time.Microsecond)
	require.NoError(t, s.Launch(fn, &driver.Launch{}))
	require.Equal(t, 1, ran, "it waits for the one before it")
	close(hold)
	require.NoError(t, s.Sync())
	require.Equal(t, 3, ran)
}

type known time.Duration

func (k known) Expect([3]int) time.Duration { return time.Duration(k) }
