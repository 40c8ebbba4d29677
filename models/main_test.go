package models

import (
	"testing"

	"github.com/gokiln/kiln/tests/sim"
)

func TestMain(m *testing.M) { sim.Main(m) }
