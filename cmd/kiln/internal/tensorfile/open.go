package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gokiln/kiln/quantized/ggml"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tensor/torch"
)

// ErrFormat is a format that there is not, or one that neither a name nor a file says.
var ErrFormat = errors.New("which format?")

// Model is the tensors of a file, or of all files of a model.
type Model struct {
	*file.Set
	Path   string
	Format string         // one of Formats
	Meta   *gguf.Metadata // of a GGUF file, nil otherwise
	facts  []Fact
}

// Fact is something that a file says beside tensors.
type Fact struct {
	Key  string `json:"key"`
	Type string `json:"type,omitempty"` // of a value in a GGUF file
	Text string `json:"value"`
}

// kind is how files of a format are found and opened.
type kind struct {
	name    string
	endings []string
	magics  []string // what files begin with
	open    func(m *Model) (*file.Set, error)
	write   func(w io.Writer, m *Model, tensors []*file.Entry) error // nil: it is only read
}

// formats are tried in this order: the first whose files begin so, and then by the ending.
var formats = []kind{
	{"gguf", []string{".gguf"}, []string{"GGUF", "FUGG"}, openGGUF, writeGGUF},
	{"ggml", nil, []string{"lmgg", "fmgg", "tjgg"}, openGGML, nil},
	{"npy", []string{".npy"}, []string{"\x93NUMPY"}, set(npy.Open), writeNPY},
	{"npz", []string{".npz"}, nil, set(npy.OpenNPZ), writeNPZ},
	{"pth", []string{".pth", ".pt", ".bin", ".ckpt"}, []string{"PK", "\x80"}, openTorch, writeTorch},
	{"index", []string{".json"}, []string{"{"}, set(safetensors.OpenIndex), nil},
	{"safetensors", []string{".safetensors"}, nil, set(safetensors.Open), writeSafetensors},
}

// Formats is the names of formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// named returns a format by its name.
func named(name string) (*kind, error) {
	for i, f := range formats {
		if f.name == name {
			return &formats[i], nil
		}
	}
	return nil, fmt.Errorf("%w %q is none; there are %s",
		ErrFormat, name, strings.Join(Formats(), ", "))
}

// ofEnding returns the format of a name of a file.
func ofEnding(path string) *kind {
	for i, f := range formats {
		if slices.Contains(f.endings, strings.ToLower(filepath.Ext(path))) {
			return &formats[i]
		}
	}
	return nil
}

// find returns the format of a file that is there.
func find(path string) (*kind, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 8)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	by := ofEnding(path)
	for i, f := range formats {
		for _, m := range f.magics {
			if !bytes.HasPrefix(head[:n], []byte(m)) || m == "{" && by != &formats[i] {
				continue
			}
			if by != nil && by.name == "npz" && m == "PK" {
				return by, nil
			}
			return &formats[i], nil
		}
	}
	if by == nil {
		return nil, fmt.Errorf("%s: %w Name one of %s", path, ErrFormat, strings.Join(Formats(), ", "))
	}
	return by, nil
}

// Open opens a file of a format, or of the one that it is found to have if the name is "". Of a
// folder it opens the safetensors index in it, or the only safetensors file, GGUF file or set of
// GGUF files.
func Open(path, name string) (*Model, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if path, err = inFolder(path); err != nil {
			return nil, err
		}
	}
	f, err := find(path)
	if name != "" {
		f, err = named(name)
	}
	if err != nil {
		return nil, err
	}
	m := &Model{Path: path, Format: f.name}
	if m.Set, err = f.open(m); err != nil {
		return nil, err
	}
	return m, nil
}

// inFolder is the file of a model in a folder.
func inFolder(dir string) (string, error) {
	for _, pattern := range []string{"*.safetensors.index.json", "*.safetensors", "*.gguf"} {
		list, err := fs.Glob(os.DirFS(dir), pattern) // the folder's name is no pattern
		if err == nil && (len(list) == 1 || oneSet(list)) {
			return filepath.Join(dir, list[0]), nil
		}
	}
	return "", fmt.Errorf("%s: a folder without an index of safetensors files and with more or less than one model; "+
		"name a file in it", dir)
}

// oneSet reports whether files are those of one model in several GGUF files, in order.
func oneSet(list []string) bool {
	for i, name := range list {
		end := fmt.Sprintf("-%05d-of-%05d.gguf", i+1, len(list))
		if base, ok := strings.CutSuffix(name, end); !ok || !strings.HasPrefix(list[0], base+"-") {
			return false
		}
	}
	return len(list) > 0
}

// set opens a file of which nothing but tensors and metadata is kept.
func set(open func(string) (*file.Set, error)) func(*Model) (*file.Set, error) {
	return func(m *Model) (*file.Set, error) { return open(m.Path) }
}

func openTorch(m *Model) (*file.Set, error) { return torch.Open(m.Path) }

func openGGUF(m *Model) (*file.Set, error) {
	f, err := gguf.Open(m.Path)
	if err != nil {
		return nil, err
	}
	m.Meta = f.Meta
	for k, v := range f.Meta.All() {
		typ := v.Type().String()
		if v.Type() == gguf.Array {
			typ = v.Elem().String() + "[]"
		}
		m.facts = append(m.facts, Fact{k, typ, v.String()})
	}
	return f.Set, nil
}

func openGGML(m *Model) (*file.Set, error) {
	f, err := ggml.Open(m.Path)
	if err != nil {
		return nil, err
	}
	m.facts = []Fact{
		{"format", "", fmt.Sprintf("%s version %d", f.Magic, f.Version)},
		{"parameters", "", fmt.Sprintf("%+v", f.Params)},
		{"vocabulary", "", fmt.Sprintf("%d tokens", len(f.Vocab))},
	}
	return f.Set, nil
}

// Files is the paths of the files that tensors are in, in the order of the tensors.
func (m *Model) Files() (list []string) {
	seen := map[string]bool{"": true}
	for e := range m.All() {
		if !seen[e.Path] {
			seen[e.Path] = true
			list = append(list, e.Path)
		}
	}
	return list
}

// Facts is what the file says beside tensors.
func (m *Model) Facts() []Fact {
	if m.facts != nil {
		return m.facts
	}
	var list []Fact
	for _, k := range slices.Sorted(maps.Keys(m.Metadata())) {
		list = append(list, Fact{Key: k, Text: m.Metadata()[k]})
	}
	return list
}

// Close closes the files.
func (m *Model) Close() error { return m.Set.Close() }
