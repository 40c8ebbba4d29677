package image

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/devlog"
)

func sample() *Image {
	return &Image{
		Kernel: "Scale", ISA: "x86-64-v4", Warp: 16, Rows: 0, General: 5, FrameSize: 128, Barriers: true, WarpOps: true,
		Shared: 1000, Local: 12, Args: 20, Code: []byte{1, 2, 3, 4, 5, 6, 7},
		VNNI:  &Entries{Rows: 1, General: 6},
		Pairs: &Entries{Rows: 3, General: 4},
		Tiles: &Entries{Rows: 2, General: 4},
		Sites: []Site{{Pos: 3}, {Check: devlog.Assert, Text: "x > 0", Pos: 9}},
	}
}

func TestRoundTrip(t *testing.T) {
	want := sample()
	data, err := want.Encode()
	require.NoError(t, err)
	got, err := Decode(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Every byte of a container counts.
func TestDamage(t *testing.T) {
	data, err := sample().Encode()
	require.NoError(t, err)
	for i := range data {
		for _, bit := range []byte{1, 0x80} {
			bad := append([]byte(nil), data...)
			bad[i] ^= bit
			_, err := Decode(bad)
			require.Error(t, err, "byte %d", i)
		}
	}
	for n := range data {
		_, err := Decode(data[:n])
		require.Error(t, err, "the first %d bytes", n)
	}
	_, err = Decode(append(data, 0))
	require.ErrorContains(t, err, "damaged")
	_, err = Decode([]byte("\x7fELF and more than twenty bytes of it"))
	require.ErrorContains(t, err, "not native code")
	later := append([]byte(nil), data...)
	later[len(magic)-1]++
	_, err = Decode(later)
	require.ErrorContains(t, err, "version 2")
}

func TestImpossible(t *testing.T) {
	for text, change := range map[string]func(m *Image){
		"unknown instruction set":      func(m *Image) { m.ISA = "x86-64-v9" },
		"8 threads in a vector":        func(m *Image) { m.Warp = 8 },
		"no entry":                     func(m *Image) { m.Rows, m.General = None, None },
		"entries at 7 and 5 of 7":      func(m *Image) { m.Rows = 7 },
		"entries at 0 and -2":          func(m *Image) { m.General = -2 },
		"entries for VNNI at 1 and -1": func(m *Image) { m.VNNI.General = None },
		"entries for VNNI at 7 and 6":  func(m *Image) { m.VNNI.Rows = 7 },
		"for AVX512_BF16 at 7 and 4":   func(m *Image) { m.Pairs.Rows = 7 },
		"for tile registers at -2 and": func(m *Image) { m.Tiles.Rows = -2 },
		"frame of 100 bytes":           func(m *Image) { m.FrameSize = 100 },
		"frame of -64 bytes":           func(m *Image) { m.FrameSize = -64 },
		"-1 bytes of shared memory":    func(m *Image) { m.Shared = -1 },
		"0 of local variables, -8 of ": func(m *Image) { m.Local, m.Args = 0, -8 },
	} {
		m := sample()
		change(m)
		_, err := m.Encode()
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, "Scale")
	}
}

func TestMessages(t *testing.T) {
	for want, s := range map[string]Site{
		"index out of range [7] with length 5":         {},
		"slice bounds out of range [:7] with length 4": {Check: devlog.SliceLen},
		devlog.NilPointer:                              {Check: devlog.Nil},
		"assertion failed: x > 0":                      {Check: devlog.Assert, Text: "x > 0"},
		"integer divide by zero (dividend 7)":          {Check: devlog.Divide},
		"negative shift amount (7)":                    {Check: devlog.Shift},
	} {
		require.Equal(t, want, s.Message(7, 5))
	}
}

func TestVectors(t *testing.T) {
	require.Equal(t, 1, Vectors([3]int{1, 1, 1}, 16, false))
	require.Equal(t, 16, Vectors([3]int{256, 1, 1}, 16, false))
	require.Equal(t, 12, Vectors([3]int{17, 3, 2}, 16, false))
	require.Equal(t, 7, Vectors([3]int{17, 3, 2}, 16, true))
}
