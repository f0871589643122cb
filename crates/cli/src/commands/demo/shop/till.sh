#!/bin/sh
# sh till.sh ITEM…: what is to be paid, in cents.
. ./lib/total.sh
. ./lib/rules.sh
sum=$(total "$@") || exit
rules "$sum" "$#"
