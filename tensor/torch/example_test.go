package torch_test

import (
	"fmt"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/torch"
)

func Example() {
	set, err := torch.Open("testdata/python-zip-4.pt", "state_dict")
	if err != nil {
		panic(err)
	}
	defer set.Close()
	for e := range set.All() { // nothing is read yet
		fmt.Println(e.Name, e.Stored, e.DType, e.Shape(), e.Layout.Strides())
	}
	e, err := set.Get("w.t")
	if err != nil {
		panic(err)
	}
	values, err := file.Values[float32](e)
	fmt.Println(values, err)
	// Output:
	// w torch.float32 f32 [2, 3] [3 1]
	// w.t torch.float32 f32 [3, 2] [1 3]
	// bias torch.float32 f32 [2] [2]
	// n torch.int64 i64 [] []
	// f8 torch.float8_e4m3fn f8e4m3 [2] [1]
	// sub torch.float32 f32 [1] [1]
	// [0 3 1 4 2 5] <nil>
}
