package hip

import (
	"io/fs"
)

// Engine are the sources of what runs the threads of a block, block.cpp with its
// headers, for simulators of other devices.
func Engine() (fs.FS, error) { return fs.Sub(sources, "src") }
