#!/bin/sh
# sh check.sh [NAME…]: the checks of that name, or all of them.
. ./lib/total.sh
. ./lib/rules.sh
failed=0

check() { # what is checked, then a command
    if (shift; "$@") >/dev/null 2>&1; then echo "ok      $1"; else echo "FAILED  $1"; failed=1; fi
}
is() { [ "$1" = "$2" ]; }
refused() { ! "$@"; }
shows() { sh receipt.sh tea cake | grep -qx "$1"; }

for name in ${*:-total discount vat receipt manual}; do
    case $name in
        total)
            check "tea and cake are 670" is "$(total tea cake)" 670
            check "what is not sold is refused" refused total tea yacht ;;
        discount)
            check "three items are a tenth off" is $(($(rules 1000 3) * 100)) $(($(rules 1000 2) * 90)) ;;
        vat)
            check "8 % are added" is "$(rules 1000 1)" 1080 ;;
        receipt)
            check "a receipt has a line for each item" shows "tea 250" ;;
        manual)
            check "the discount is explained" grep -q "tenth off" README.md
            check "the tax is explained" grep -q "8 %" README.md ;;
    esac
done
exit $failed
