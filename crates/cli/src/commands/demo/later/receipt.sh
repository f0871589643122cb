#!/bin/sh
# sh receipt.sh ITEM…: a line for each item, and what is to be paid.
. ./lib/total.sh
for item in "$@"; do
    echo "$item $(total "$item")"
done
echo "to pay $(sh till.sh "$@")"
