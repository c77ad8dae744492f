package program

import _ "dace.local/kernel/gocell/symbols/all" // what cells can import
