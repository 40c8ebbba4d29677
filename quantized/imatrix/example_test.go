package imatrix_test

import (
	"bytes"
	"fmt"

	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/tensor/file"
)

func Example() {
	m := &imatrix.Matrix{Datasets: []string{"wiki.txt"}, Chunks: 1, ChunkSize: 4}
	// Four rows of two columns were added up.
	err := m.Add(&imatrix.Entry{Name: "output.weight", Sums: []float32{8, 2}, Counts: []int64{4}})
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := imatrix.Write(&b, m); err != nil {
		panic(err)
	}
	m, err = imatrix.Read(file.FromBytes("imatrix.gguf", b.Bytes()))
	if err != nil {
		panic(err)
	}
	for _, e := range m.Entries() {
		fmt.Println(e.Name, e.Weights())
	}
	// Output: output.weight [2 0.5]
}
