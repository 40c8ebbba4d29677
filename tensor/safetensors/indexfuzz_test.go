package safetensors

import (
	"path/filepath"
	"testing"

	"github.com/gokiln/kiln/tensor/file/filetest"
)

// FuzzIndex parses anything as an index, which never leads out of its folder.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":12,"x":"y"},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"a":"../x"},"new":[{"y":[]}]}`))
	f.Add([]byte(`{"weight_map":{}} x`))
	f.Add([]byte(`{"metadata":{"total_size": `))
	f.Fuzz(func(t *testing.T, b []byte) {
		ix, err := parseIndex("index.json", b)
		if filetest.Refused(t, err, len(b)) {
			return
		}
		for name, p := range ix.tensors {
			if !filepath.IsLocal(p.file) {
				t.Fatalf("%q is in %q", name, p.file)
			}
		}
	})
}
