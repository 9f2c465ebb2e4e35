"""The rule tier on pairs of answers that differ in nothing but what they mean."""

import pytest

from moonlynx.judge.contract.steps import finish
from moonlynx.judge.contract.types import Example
from moonlynx.judge.text.absent import find_absent


def absent(context: str, answer: str) -> list[str]:
    found = finish(find_absent(Example(context=context, answer=answer)))
    assert all(answer[each.start : each.end] == each.text for each in found)
    return [each.text for each in found]


# Document, an answer that says the same in another form, and one that says something else.
PAIRS = [
    ("The company made 3 billion dollars.", "It made $3 billion.", "It made $3 million."),
    (
        "The company made 1 billion dollars.",
        "It made 1,000 million dollars.",
        "It made 1 million dollars.",
    ),
    (
        "The company made a billion dollars.",
        "It made one billion dollars.",
        "It made a million dollars.",
    ),
    ("It has a million users.", "It has 1,000,000 users.", "It has a billion users."),
    ("It has one million users.", "It has 1 million users.", "It has one billion users."),
    ("It has 2 million users.", "It has two million users.", "It has two billion users."),
    ("It has 2bn users.", "It has 2 billion users.", "It has 2m users."),
    ("It has 5k users.", "It has 5,000 users.", "It has 5m users."),
    ("It has 5K users.", "It has five thousand users.", "It has 5M users."),
    ("It has three thousand users.", "It has 3,000 users.", "It has three hundred users."),
    ("It costs 1.5 million euros.", "It costs €1.5m.", "It costs €1.5bn."),
    ("It costs 4 trillion yen.", "It costs ¥4tn.", "It costs ¥4bn."),
    ("It costs 20 dollars.", "It costs $20.", "It costs €20."),
    ("It costs 20 USD.", "It costs US$20.", "It costs 20 GBP."),
    ("It costs 20 pounds sterling.", "It costs £20.", "It costs $20."),
    ("It costs 50 cents.", "It costs $0.50.", "It costs $50."),
    ("It costs 5 euros.", "It costs 5 EUR.", "It costs 5 dollars."),
    ("It costs 500 rupees.", "It costs ₹500.", "It costs 500 yen."),
    ("It costs 30 Swiss francs.", "It costs CHF 30.", "It costs 30 euros."),
    ("It costs C$15.", "It costs 15 Canadian dollars.", "It costs 15 US dollars."),
    ("The rate rose by 5 percent.", "It rose by 5%.", "It rose by 5 percentage points."),
    (
        "The rate rose by 5 percentage points.",
        "It rose by 5 points, in percent.",
        "It rose by 5 percent.",
    ),
    ("The rate is 50 percent.", "The rate is 50%.", "The rate is 15%."),
    ("Half of the users left.", "50% of the users left.", "A third of the users left."),
    ("50% of the users left.", "Half of the users left.", "A quarter of the users left."),
    ("A third of the users left.", "One third of the users left.", "Half of the users left."),
    ("Two thirds of the users left.", "Two-thirds of them left.", "Three quarters of them left."),
    ("A quarter of the users left.", "25 percent of them left.", "75 percent of them left."),
    ("It is 40 km away.", "It is 40 kilometres away.", "It is 40 miles away."),
    ("It is 10 miles away.", "It is 16.09344 km away.", "It is 10 km away."),
    ("It is 3 km away.", "It is 3,000 m away.", "It is 3 m away."),
    ("It is 300 m high.", "It is 300 metres high.", "It is 300 feet high."),
    ("It weighs 5 kg.", "It weighs 5,000 grams.", "It weighs 5 pounds."),
    ("It weighs 70 kilograms.", "It weighs 70 kg.", "It weighs 70 grams."),
    ("It weighs 20 tonnes.", "It weighs 20,000 kg.", "It weighs 20 kg."),
    ("It weighs 16 ounces.", "It weighs 1 pound.", "It weighs 16 pounds."),
    ("It lasts 90 minutes.", "It lasts 1.5 hours.", "It lasts 90 seconds."),
    ("It lasts 3 hours.", "It lasts 180 minutes.", "It lasts 3 minutes."),
    ("It lasts 2 weeks.", "It lasts 14 days.", "It lasts 2 days."),
    ("It lasts 6 months.", "It lasts half a year.", "It lasts 6 weeks."),
    ("It lasts 20 years.", "It lasts two decades.", "It lasts 20 months."),
    ("It holds 2 litres.", "It holds 2,000 ml.", "It holds 2 ml."),
    ("It is 30 °C.", "It is 30 degrees Celsius.", "It is 30 °F."),
    ("It is 86 °F.", "It is 86 degrees Fahrenheit.", "It is 86 °C."),
    ("It drives at 50 km/h.", "It drives at 50 kph.", "It drives at 50 mph."),
    ("It covers 30 square kilometres.", "It covers 30 km².", "It covers 30 square miles."),
    ("It covers 15 hectares.", "It covers 15 ha.", "It covers 15 acres."),
    ("It stores 16 GB.", "It stores 16 gigabytes.", "It stores 16 TB."),
    ("It stores 500 MB.", "It stores 500 megabytes.", "It stores 500 GB."),
    ("It yields 20 MW.", "It yields 20 megawatts.", "It yields 20 GW."),
    ("It uses 40 kWh.", "It uses 40 kilowatt-hours.", "It uses 40 MWh."),
    ("There are twenty-five rooms.", "There are 25 rooms.", "There are thirty-five rooms."),
    ("There are 25 rooms.", "There are twenty-five rooms.", "There are fifty-two rooms."),
    (
        "There are 125 rooms.",
        "There are one hundred and twenty-five rooms.",
        "There are one thousand twenty-five rooms.",
    ),
    ("Two million people came.", "2,000,000 people came.", "Two thousand people came."),
    ("A hundred people came.", "100 people came.", "A thousand people came."),
    ("A dozen people came.", "12 people came.", "Three dozen people came."),
    ("1.2 million people came.", "1,200,000 people came.", "12 million people came."),
    ("One and a half million people came.", "1.5 million people came.", "2.5 million people came."),
    ("Half a million people came.", "500,000 people came.", "5 million people came."),
    (
        "It made 2.5 billion dollars in 2019.",
        "It made $2,500 million in 2019.",
        "It made 2.5 million dollars in 2019.",
    ),
    (
        "It made between 3 and 5 billion dollars.",
        "It made 4 billion dollars.",
        "It made 4 million dollars.",
    ),
    ("Revenue grew to 12 million.", "Revenue was 12,000,000.", "Revenue was 12 billion."),
    (
        "It has 7 million books and 12 branches.",
        "It has 7,000,000 books.",
        "It has 7 billion books.",
    ),
    (
        "The population is 8.1 million.",
        "About 8 million live there.",
        "About 8 billion live there.",
    ),
    (
        "The debt is $31.4 trillion.",
        "The debt is 31.4 trillion dollars.",
        "The debt is $31.4 billion.",
    ),
    ("It has 300,000 followers.", "It has 300K followers.", "It has 300M followers."),
    ("Nine percent of them.", "9% of them.", "90% of them."),
    ("It grew 0.5 percent.", "It grew by half a percent.", "It grew 5 percent."),
    ("It was the third largest.", "It was the 3rd largest.", "It was the 13th largest."),
    ("They sold forty thousand.", "They sold 40,000.", "They sold 40 million."),
    ("They sold 2.4 lakh units.", "They sold 240,000 units.", "They sold 2.4 crore units."),
    (
        "It took three point five million years.",
        "It took 3.5 million years.",
        "It took 35 million years.",
    ),
    ("It is 2½ miles long.", "It is 2.5 miles long.", "It is 2½ km long."),
    ("It is half a mile long.", "It is 0.5 miles long.", "It is half a kilometre long."),
    ("It took two and a half hours.", "It took 150 minutes.", "It took 150 hours."),
    (
        "The margin fell 70 basis points.",
        "The margin fell 0.7 percentage points.",
        "The margin fell 70 percentage points.",
    ),
    (
        "It rose from 10% to 25%.",
        "It rose by 15 percentage points.",
        "It rose by 35 percentage points.",
    ),
    ("Bake it at 350 °F.", "Bake it at 177 °C.", "Bake it at 350 °C."),
    ("It is 60 mph.", "It is 97 km/h.", "It is 60 km/h."),
    ("It paid 30 US dollars.", "It paid $30.", "It paid 30 Australian dollars."),
    ("One in five of them left.", "20% of them left.", "40% of them left."),
    ("Seventy per cent agreed.", "70 percent agreed.", "Seventeen percent agreed."),
    ("It needs 2,000 calories.", "It needs 2,000 calories.", "It needs 200 calories."),
    (
        "It has 1.5 million residents and 300 parks.",
        "It has one and a half million residents.",
        "It has 15 million residents.",
    ),
    ("He paid 500 thousand pounds.", "He paid £500k.", "He paid £500m."),
    ("He owns 40 acres.", "He owns 16 hectares.", "He owns 40 hectares."),
    ("The file has 4 GB.", "The file has 4,000 MB.", "The file has 4 MB."),
    (
        "A tenth of the seats are free.",
        "10% of the seats are free.",
        "Nine tenths of the seats are free.",
    ),
    ("It lasted two centuries.", "It lasted 200 years.", "It lasted 20 years."),
]


@pytest.mark.parametrize(("context", "same", "other"), PAIRS)
def test_the_same_is_held_and_the_other_is_not(context: str, same: str, other: str) -> None:
    assert absent(context, same) == []
    assert absent(context, other) != []


# Document, and an answer in which a word for a number or share tells none, or follows from it.
NO_CLAIM = [
    ("It was busy in 2019.", "It was busy in the first half of the year."),
    ("It was busy in 2019.", "It was busy in the third quarter of the year."),
    ("Reds and Blues.", "The other half of the team is Blue."),
    ("They won often.", "They won for the third time."),
    ("He has many books.", "He has a few hundred books, or thousands of them."),
    ("500 of the 1,000 seats are free.", "Half of the seats are free."),
    ("49.8 % of the seats are free.", "About half of the seats are free."),
    ("The price halved; half remained.", "50% of the price remained."),
    ("It was 55 degrees.", "It was 55 °F."),
    ("It costs 15 dollars.", "It costs 15 Canadian dollars."),
    ("It opened in the twentieth century.", "It opened in the 20th century."),
    ("They came on Monday and left on Friday.", "They stayed for 4 days."),
    ("It weighs 2 tons.", "It weighs 2,000 kg."),
    ("The table is in km. Depth: 40.", "It is 40 km deep."),
    ("305 people came.", "Three hundred people came."),
    ("It rose from 10 to 15 percent.", "It rose by 5 percentage points."),
    ("It was between 50 and 68 °F.", "It was 10 °C."),
    ("62% of them agreed.", "More than half of them agreed."),
    ("Between three and five billion.", "There are 4 billion."),
    ("It opened in 1984.", "It opened in nineteen eighty-four."),
    ("There are 24 of them.", "There are two dozen of them."),
]


@pytest.mark.parametrize(("context", "answer"), NO_CLAIM)
def test_what_may_be_meant_is_left_to_the_judge(context: str, answer: str) -> None:
    assert absent(context, answer) == []


@pytest.mark.parametrize(
    "text", ["1" * 5_000, "1." + "3" * 5_000, "1,000" + ",000" * 2_000, "one hundred " * 300]
)
def test_numbers_without_end_break_nothing(text: str) -> None:
    assert absent("It has 24 rooms.", f"It has {text} rooms and 25 doors.")[-1] == "25"
    assert absent(f"It has {text} rooms.", "It has 25 doors.") == ["25"]
