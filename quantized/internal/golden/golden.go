package golden

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// Env names a file with more data of the same form, which tests read in place of the one of this
// repository.
const Env = "KILN_QUANTS"

// Set is tensors by name.
type Set struct {
	tensors map[string]entry
	data    []byte
	Rows    []string // names of the families of rows
	PerName int      // rows of each
}

type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Read returns the tensors of the file at path, or of the one that [Env] names.
func Read(t testing.TB, path string) *Set {
	t.Helper()
	if other := os.Getenv(Env); other != "" {
		path = other
	}
	once, _ := sets.LoadOrStore(path, sync.OnceValues(func() (*Set, error) { return read(path) }))
	s, err := once.(func() (*Set, error))()
	if err != nil {
		t.Fatalf("golden data of quantized formats: %s: %v", path, err)
	}
	return s
}

// sets holds what read made of a path: unpacking a file takes a tenth of a second.
var sets sync.Map

func read(path string) (*Set, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		if raw, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	n := binary.LittleEndian.Uint64(raw)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(raw[8:8+n], &header); err != nil {
		return nil, err
	}
	s := &Set{tensors: map[string]entry{}, data: raw[8+n:]}
	var meta map[string]string
	if err := json.Unmarshal(header["__metadata__"], &meta); err != nil {
		return nil, err
	}
	delete(header, "__metadata__")
	if err := json.Unmarshal([]byte(meta["rows"]), &s.Rows); err != nil {
		return nil, err
	}
	if _, err := fmt.Sscan(meta["rows_per_name"], &s.PerName); err != nil {
		return nil, err
	}
	for name, text := range header {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, err
		}
		s.tensors[name] = e
	}
	return s, nil
}

// Has reports whether there is a tensor of a name.
func (s *Set) Has(name string) bool { _, ok := s.tensors[name]; return ok }

// Bytes returns a tensor as bytes, in memory that is aligned to words.
func (s *Set) Bytes(t testing.TB, name string) []byte {
	t.Helper()
	e, ok := s.tensors[name]
	if !ok {
		t.Fatalf("there is no golden tensor %s", name)
	}
	return bytes.Clone(s.data[e.Offsets[0]:e.Offsets[1]])
}

// Shape returns the shape of a tensor.
func (s *Set) Shape(name string) []int { return s.tensors[name].Shape }

// F32 returns a tensor of float32.
func (s *Set) F32(t testing.TB, name string) []float32 { return numbers[float32](t, s, name) }

// F64 returns a tensor of float64.
func (s *Set) F64(t testing.TB, name string) []float64 { return numbers[float64](t, s, name) }

func numbers[T any](t testing.TB, s *Set, name string) []T {
	t.Helper()
	raw := s.Bytes(t, name)
	out := make([]T, len(raw)/binary.Size(*new(T)))
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}
